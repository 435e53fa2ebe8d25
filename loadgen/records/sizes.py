"""What the baseline's tokenizer said of the texts of a workload: enough to make the same workload without a server."""

from pathlib import Path

import msgspec

from loadgen.errors import RunFolderError

SIZES = "sizes.json"
"""Its name in a run folder."""


class Sizes(msgspec.Struct, kw_only=True):
    """Token counts and cuts by the digest of a text, as `loadgen.workload.sizing` asks for them.

    It grows while a workload is made, and is then written once, beside the manifest. It holds no text.
    """

    chars_per_token: float
    """Of a sample of the workload: how much text to make before it is cut."""
    message_tokens: int
    """What the chat template puts around a message."""
    prompt_tokens: int
    """What it puts around all of them: the begin-of-text mark, and the head of the answer to come."""
    by_line: bool = False
    """A text has as many tokens as its lines have: the tokenizer ends a token wherever a line begins."""
    counts: dict[str, int] = msgspec.field(default_factory=dict)
    """Tokens of a text."""
    cuts: dict[str, int] = msgspec.field(default_factory=dict)
    """Characters of a text (its digest, a colon, and the tokens asked for) that hold so many tokens."""


def read_sizes(folder: Path) -> dict[str, Sizes]:
    """The sizes of each workload of a run by its name; none where no tokenizer was asked.

    Raises `RunFolderError` where the file is damaged.
    """
    path = folder / SIZES
    if not path.is_file():
        return {}
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, Sizes])
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise RunFolderError(f"{path} is damaged: {error}") from None
