"""Text of about so many tokens, always the same for one stream of random numbers; nothing is downloaded.

Kinds of text, each by its name. `words` are the one-token words of the tiny model. All others are made of files: those
of CPython's standard library and its language reference, or the user's own (`loadgen.workload.corpus.folder`). They
are what the tools of agents print, and their repetition (paths, indentation, names) is left in: n-gram drafts live on
it. Models have seen the standard library in training; what that does to acceptance it does to every variant.

| name | what it is |
|---|---|
| `words` | words without meaning, one token each to the tiny model |
| `code` | source files as a shell tool shows them: 60 % `view`, 40 % `grep` |
| `source` | source files as they are |
| `view` | a file with line numbers, from some line on (`cat -n`) |
| `grep` | lines that hold a word, with path and number (`grep -rn`) |
| `diff` | unified diffs of a name renamed in file after file (`git diff`) |
| `log` | the log of a test run, with the tracebacks of its failures |
| `listing` | folders with their files, sizes or line counts |
| `json` | what a parser says of source files, as JSON |
| `pydoc` | modules as `pydoc` shows them: signatures and docstrings |
| `prose` | the language reference, by paragraph |
"""

from typing import Final

CORPORA: Final = (
    *("code", "prose", "listing", "diff", "log", "json"),
    *("source", "view", "grep", "pydoc", "words"),
)
"""The kinds of text."""
