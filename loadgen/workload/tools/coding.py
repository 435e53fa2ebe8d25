"""Tools of coding agents: names, parameters and words of the usual kind, none of any product."""

from loadgen.workload.tools.tool import Parameter, Tool

__all__ = ["CODING"]

_PATHS = ("Lib/argparse.py", "Lib/pathlib.py", "Lib/tarfile.py", "Lib/inspect.py", "Lib/shutil.py", "Lib/typing.py")
_FOLDERS = ("Lib", "Lib/email", "Lib/unittest", "Lib/asyncio", "Doc/library", "Tools/scripts")
_NAMES = ("resolve_path", "ArgumentParser", "_get_target", "open_archive", "signature", "copy_tree")
_TOPICS = (
    "descriptor protocol and attribute lookup",
    "exception groups in asynchronous code",
    "import system caching of modules",
    "memory model of garbage collection",
)
_PATH = Parameter("path", "string", "Path of the file, from the root of the repository.", _PATHS)
_COMMAND = Parameter(
    "command",
    "string",
    "The command line to run.",
    ("git status --short", "python -m unittest", "ls -la", "git log -3"),
)

CODING: tuple[Tool, ...] = (
    Tool("bash", "Run a shell command and return what it prints.", (_COMMAND,), ("code", "log", "listing")),
    Tool(
        "read_file",
        "Read a text file, with line numbers in front of its lines.",
        (
            _PATH,
            Parameter("offset", "integer", "The first line to show, from 1.", (1, 120, 480, 900), required=False),
            Parameter("limit", "integer", "How many lines to show.", (40, 120, 200), required=False),
        ),
        ("view", "code"),
    ),
    Tool(
        "edit_file",
        "Replace one exact piece of text in a file by another. The old text must stand in the file once.",
        (
            _PATH,
            Parameter("old_text", "string", "Text to replace, with its indentation.", ("return None", "if not name:")),
            Parameter("new_text", "string", "Text to put in its place.", ("return default", "if name is None:")),
        ),
        ("diff",),
    ),
    Tool(
        "search",
        "Search the contents of files for a regular expression and list the lines that match.",
        (
            Parameter("pattern", "string", "The regular expression.", _NAMES),
            Parameter("folder", "string", "Where to search; the whole repository where left out.", _FOLDERS, False),
            Parameter("ignore_case", "boolean", "Whether case makes no difference.", (True, False), required=False),
        ),
        ("grep",),
    ),
    Tool(
        "list_files",
        "List the files and folders below a folder, with their sizes.",
        (
            Parameter("folder", "string", "The folder, from the root of the repository.", _FOLDERS),
            Parameter("depth", "integer", "How many levels of folders to go down.", (1, 2, 3), required=False),
        ),
        ("listing",),
    ),
    Tool(
        "write_file",
        "Write a text file as a whole, creating it where it doesn't exist.",
        (_PATH, Parameter("content", "string", "All of the new text.", ("import sys\n", '"""Helpers."""\n'))),
        ("diff",),
    ),
    Tool(
        "run_tests",
        "Run tests and return the failures with their tracebacks.",
        (
            Parameter("target", "string", "A file, folder or single test.", ("test_argparse", "test_tarfile")),
            Parameter("stop_at_first", "boolean", "Whether to stop at the first failure.", (True,), required=False),
        ),
        ("log",),
    ),
    Tool(
        "show_changes",
        "Show what has changed in the working tree, as a unified diff.",
        (Parameter("path", "string", "Only changes of this file.", _PATHS, required=False),),
        ("diff",),
    ),
    Tool(
        "history",
        "List the commits that touched a file, newest first.",
        (_PATH, Parameter("count", "integer", "How many commits to list.", (5, 10, 20), required=False)),
        ("log",),
    ),
    Tool(
        "find_definition",
        "Find where a name is defined, using the index of the language server.",
        (
            Parameter("name", "string", "The name to look up.", _NAMES),
            Parameter("kind", "string", "What it names.", ("function", "class", "module"), required=False),
        ),
        ("grep", "json"),
    ),
    Tool(
        "find_references",
        "List every use of a name in the repository.",
        (Parameter("name", "string", "The name to look up.", _NAMES),),
        ("grep",),
    ),
    Tool(
        "task",
        "Give a job of its own to a sub-agent with a fresh context, and return its report.",
        (
            Parameter("description", "string", "The job in a few words.", ("Find the callers", "Map the module")),
            Parameter("prompt", "string", "Everything that the sub-agent must know.", _TOPICS),
        ),
        ("prose",),
    ),
    Tool(
        "fetch_page",
        "Fetch a page and return its text.",
        (Parameter("url", "string", "The address of the page.", ("https://docs.python.org/3/library/ast.html",)),),
        ("prose",),
    ),
    Tool(
        "web_search",
        "Search the web and return titles, addresses and excerpts.",
        (Parameter("query", "string", "What to search for.", _TOPICS),),
        ("prose",),
    ),
    Tool(
        "update_plan",
        "Replace the list of steps that the user sees, each with its state.",
        (Parameter("steps", "array", "The steps in order.", (("read the code", "write a test", "fix it"),)),),
        ("prose",),
    ),
    Tool(
        "start_process",
        "Start a command in the background and return its number.",
        (_COMMAND,),
        ("log",),
    ),
    Tool(
        "read_output",
        "Return what a command in the background has printed since the last time.",
        (Parameter("process", "integer", "The number of the process.", (1, 2, 3)),),
        ("log",),
    ),
    Tool(
        "stop_process",
        "Stop a command that runs in the background.",
        (Parameter("process", "integer", "The number of the process.", (1, 2, 3)),),
        ("log",),
    ),
    Tool(
        "edit_cell",
        "Replace, insert or delete one cell of a notebook.",
        (
            _PATH,
            Parameter("cell", "integer", "The number of the cell, from 0.", (0, 3, 7)),
            Parameter("source", "string", "The new source of the cell.", ("import csv", "rows[:5]")),
        ),
        ("diff",),
    ),
    Tool(
        "ask_user",
        "Ask the user a question, with answers to choose from.",
        (Parameter("question", "string", "The question.", ("Which of the two behaviours is meant?",)),),
        ("prose",),
    ),
)
