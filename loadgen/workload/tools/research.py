"""Tools of research agents: names, parameters and words of the usual kind, none of any product."""

from loadgen.workload.tools.tool import Parameter, Tool

__all__ = ["RESEARCH"]

_TOPICS = (
    "descriptor protocol and attribute lookup",
    "exception groups in asynchronous code",
    "import system caching of modules",
    "memory model of garbage collection",
)

RESEARCH: tuple[Tool, ...] = (
    Tool(
        "web_search",
        "Search the web and return titles, addresses and excerpts of the best pages.",
        (
            Parameter("query", "string", "What to search for.", _TOPICS),
            Parameter("count", "integer", "How many results to return.", (5, 10), required=False),
        ),
        ("listing", "json"),
    ),
    Tool(
        "open_page",
        "Open a page and return its text, from a position on.",
        (
            Parameter(
                "url", "string", "The address of the page.", ("https://docs.python.org/3/reference/datamodel.html",)
            ),
            Parameter("from", "integer", "The first paragraph to return.", (1, 20, 60), required=False),
        ),
        ("prose",),
    ),
    Tool(
        "find_in_page",
        "Find the passages of the open page that hold some words.",
        (Parameter("words", "string", "The words to find.", _TOPICS),),
        ("grep", "prose"),
    ),
    Tool(
        "read_document",
        "Read a document that was found, such as a paper, as plain text.",
        (
            Parameter("address", "string", "Where the document is.", ("https://docs.python.org/3/archives/",)),
            Parameter("pages", "string", "Which of its pages, such as 3-7.", ("1-4", "5-9"), required=False),
        ),
        ("prose",),
    ),
    Tool(
        "python",
        "Run a Python program and return what it prints. State is kept between calls.",
        (Parameter("code", "string", "The program.", ("print(sum(values) / len(values))", "table.head()")),),
        ("json", "log"),
    ),
    Tool(
        "take_note",
        "Keep a finding with its source for the report.",
        (
            Parameter("finding", "string", "The finding in one sentence.", _TOPICS),
            Parameter("source", "string", "Where it was found.", ("the language reference",)),
        ),
        ("prose",),
    ),
)
