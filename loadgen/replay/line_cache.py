"""What tokenizers said of lines, kept between runs: a large workload is sized once for a model, and not for every run.

    $XDG_CACHE_HOME/loadgen/lines/TOKENIZER     (or ~/.cache/loadgen/…)

A tokenizer is known by the ids that it gives a text of our own. A file holds digests of lines and the lengths of their
tokens, and no text. It may be deleted at any time; one that can't be read or written is done without.
"""

import hashlib
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from loadgen.client.control import Control

__all__ = ["Lines", "cache_folder", "fingerprint", "read_lines", "write_lines"]

Lines = dict[bytes, bytes]
"""By the digest of a line: the bytes of each of its tokens."""

_MOST = 500_000
"""Lines in a file: some tens of megabytes. A larger one begins anew."""
_PROBE = "\n".join(
    (
        "".join(map(chr, range(0x20, 0x7F))),
        "The quick brown fox jumps over the lazy dog; 0 1 23 456 7890 3.14159 1e-9 0xDEADBEEF, isn't it?",
        "    def tokenize(self, text: str, *, limit: int = 100) -> list[int]:\n\t\treturn [ord(one) for one in text]",
        "Fünf große Äpfel, дюжина яблок, 十二個のリンゴ, تفاحة, \U0001f34e\U0001f34f — “quoted” … naïve café",
        "https://example.org/a/b?c=d&e=%20f#g <tag attr='v'/> {\"key\": [null, true]} SELECT * FROM t WHERE a >= 1;",
    )
)
"""What every two tokenizers take apart differently."""


def cache_folder() -> Path:
    """Where lines are kept."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "loadgen" / "lines"


async def fingerprint(control: Control) -> str | None:
    """What tells the server's tokenizer from others; null where it doesn't say."""
    ids = await control.tokens(_PROBE)
    return hashlib.sha256(json.dumps(ids).encode()).hexdigest()[:32] if ids else None


def read_lines(folder: Path, tokenizer: str | None) -> Lines:
    """What is known of this tokenizer."""
    if tokenizer is None:
        return {}
    try:
        return msgspec.msgpack.decode((folder / tokenizer).read_bytes(), type=Lines)
    except (OSError, msgspec.MsgspecError):
        return {}


def write_lines(folder: Path, tokenizer: str | None, lines: Mapping[bytes, bytes]) -> None:
    """Keep what is known, in one step."""
    if tokenizer is None or len(lines) > _MOST:
        return
    path = folder / tokenizer
    partial = path.with_name(f"{tokenizer}.{os.getpid()}")
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_bytes(msgspec.msgpack.encode(lines))
        partial.replace(path)
