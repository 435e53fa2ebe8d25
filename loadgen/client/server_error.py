"""What a server complains about: the error object of an HTTP reply or of a stream, made fit for a record."""

import re
from collections.abc import Callable
from typing import Any

import msgspec

_OVERFLOW_TYPES = ("exceed_context_size_error", "context_length_exceeded")
"""llama-server's type for a prompt that is too long, and the code that OpenAI-style servers give."""
_OVERFLOW_WORDS = ("context size has been exceeded", "exceeds the available context size", "maximum context length")
"""A shared KV cache that runs out mid-stream comes as a plain `server_error`; only its message tells."""

MAX_MESSAGE = 200
"""Characters of a server's message that are kept: enough for one sentence."""
_MAX_KIND = 40
_ECHO_WINDOW = 16
"""A stretch of this many characters that also stands in the request is taken for an echo of it and hidden. Shorter
stretches are common words."""


class ServerError(msgspec.Struct, frozen=True):
    """An error object: its message, and its type and code as text where it has them."""

    message: str
    kind: str | None = None
    code: str | None = None

    @property
    def is_context_overflow(self) -> bool:
        """Whether prompt and output don't fit the context: too long on arrival, or a shared cache that ran out."""
        lowered = self.message.lower()
        return (
            self.kind in _OVERFLOW_TYPES
            or self.code in _OVERFLOW_TYPES
            or any(words in lowered for words in _OVERFLOW_WORDS)
        )

    def one_line(self, sent: bytes, redact: Callable[[str], str] = str) -> str:
        """Type and message in one line of at most `MAX_MESSAGE` characters, without echoes of the request body `sent`.

        `redact` takes out what else must not be kept, such as the key.
        """
        # Servers append the offending JSON to some messages; it begins at a bracket. The key is taken out before
        # anything is cut: half a key is still a secret.
        message = redact(self.message).split("\n", 1)[0].split("{", 1)[0].split("[", 1)[0]
        kind = f"{redact(self.kind)[:_MAX_KIND]}: " if self.kind else ""
        text = " ".join(f"{kind}{message}".split())[: MAX_MESSAGE + _ECHO_WINDOW]
        return _without_echo(text, sent)[:MAX_MESSAGE]


def read_error(value: Any) -> ServerError | None:
    """The error in a decoded JSON value: an `error` member (object or text), or an object that is one. None if none."""
    if not isinstance(value, dict):
        return None
    error = value.get("error", value if value.get("object") == "error" else None)
    if isinstance(error, str) and error:
        return ServerError(message=error)
    if not isinstance(error, dict):
        return None
    message, kind, code = error.get("message"), error.get("type"), error.get("code")
    return ServerError(
        message=message if isinstance(message, str) else "",
        kind=kind if isinstance(kind, str) else None,
        code=str(code) if isinstance(code, (str, int)) else None,
    )


def read_error_body(body: bytes) -> ServerError | None:
    """The error in a reply's body; None where the body is no JSON or holds none."""
    try:
        return read_error(msgspec.json.decode(body))
    except msgspec.DecodeError:
        return None


def _without_echo(text: str, sent: bytes) -> str:
    """`text` with every stretch that also stands in `sent` replaced by an ellipsis."""
    echoed = [False] * len(text)
    for start in range(len(text) - _ECHO_WINDOW + 1):
        if msgspec.json.encode(text[start : start + _ECHO_WINDOW])[1:-1] in sent:
            echoed[start : start + _ECHO_WINDOW] = [True] * _ECHO_WINDOW
    text = "".join("\0" if hidden else character for character, hidden in zip(text, echoed, strict=True))
    return re.sub("\0+", "…", text)
