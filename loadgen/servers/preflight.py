"""What a server is, as it says itself: kind, model, slots, context, sampling, speculation."""

import asyncio
import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from loadgen.client.chat import CHAT_PATH
from loadgen.client.control import Control, Health, key_refused, read_object
from loadgen.client.reply import Reply
from loadgen.client.transport import HttpTransport
from loadgen.client.transport_error import TransportError
from loadgen.errors import RefusedError
from loadgen.records.model import ServerFacts
from loadgen.servers.model_file import identify
from loadgen.servers.settings import model_of, names_model, read_settings

PROBE_TOKENS = 48
"""Output tokens of the probe: every drafter of b11549 drafts within them on a text that repeats, and the probe must
stay short on a slow server."""
LONG_PROBE_TOKENS = 160
"""For a server that says it speculates and drafted nothing yet: longer than any n-gram match and shortest draft
(`ngram-mod`: 24 and 48)."""
PROBE_S = 120.0
"""A cold model on a slow disk takes its time for the first request."""
_REPEATED = (" one", " the", " a")
"""Words of which one is a single token in every vocabulary seen."""
_REPEATS = 64
_BIAS = 100
"""Above the spread of logits of any model: the token comes again and again, also from random weights."""
_PROBE_LINE = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen\n"
_PROBE_PROMPT = "Go on with these lines, changing nothing:\n" + _PROBE_LINE * 6
_COMPLETION_PATH = "/completion"
_OK, _NOT_FOUND = 200, 404
_KEY_STATUSES = (401, 403)

_NOISE = re.compile(r"speculative\..*|speculative|id|id_slot|id_task|stream|timings_per_token|return_progress")
"""Of the sampling defaults: what speaks of speculation, or of one request."""


async def read_facts(control: Control, *, command: Sequence[str] | None = None, log: str | None = None) -> ServerFacts:
    """What the server says of itself. `drafted` stays null: only a probe tells.

    Args:
        control: the control routes of a server that is ready.
        command: its command line (program and arguments), where it is known.
        log: what it printed while loading, where it is ours.

    Raises `RefusedError` where the key is not accepted.
    """
    health = await control.health()
    is_llama = health is Health.READY
    models = _entries(await control.models())
    props = await control.props() if is_llama else None
    slots = await control.slots() if is_llama else None
    defaults = _object(props, "default_generation_settings")
    context = _min_int(slots, "n_ctx") or _int(defaults, "n_ctx")
    path = _text(props, "model_path") or (model_of(command) if command else None)
    file = await asyncio.to_thread(identify, path, control.endpoint) if path and _is_own(command) else None
    return ServerFacts(
        kind="llama-server" if is_llama else "openai",
        model=_text(models[0], "id") if models else None,
        model_path=path,
        build=_text(props, "build_info"),
        slots=len(slots) if slots else _int(props, "total_slots"),
        # vLLM has no slots, but says how long one request may get.
        context_per_slot=context or (_int(models[0], "max_model_len") if models else None),
        metrics=await control.metrics() is not None,
        speculative=_speculative(slots),
        drafted=None,
        sampling=_sampling(_object(defaults, "params")),
        model_bytes=file.bytes if file is not None else None,
        model_digest=file.digest if file is not None else None,
        chat_template=_digest(_text(props, "chat_template")),
        tokenizer=await control.tokenize(_REPEATED[0]) is not None if is_llama else None,
        settings=read_settings(command, log),
    )


async def probe_drafts(
    transport: HttpTransport,
    model: str | None,
    *,
    extra: Mapping[str, Any] | None = None,
    control: Control | None = None,
) -> int | None:
    """Tokens drafted in one short request that must draft if anything does: one token, repeated by force.

    0 means that it was answered and nothing was drafted; None that it wasn't answered, or that the server doesn't say.
    Where nothing was drafted and the server may speculate (`/slots`), a longer request follows.

    Args:
        transport: the server.
        model: the name to send, where the server needs one.
        extra: further fields of the request, as the variant sends them.
        control: the server's other routes, where they don't lie at its root.

    Raises `RefusedError` where the chat route is missing or the key is not accepted.
    """
    routes = control if control is not None else Control(transport)
    named = {"model": model} if model is not None else {}
    fields = {**(extra or {}), **named}
    repeated = await _repeated_token(routes)
    drafted = await _drafted(transport, fields, repeated, PROBE_TOKENS)
    if drafted == 0 and _speculative(await routes.slots()) is not False:
        return await _drafted(transport, fields, repeated, LONG_PROBE_TOKENS) or 0
    return drafted


async def _repeated_token(control: Control) -> tuple[str, int] | None:
    """A word and its token, such that repeating the word repeats the token; None where the server has no tokenizer."""
    for word in _REPEATED:
        tokens = await control.tokens(word * _REPEATS)
        if tokens is None:
            return None
        # What precedes the text (a BOS token, a blank that is merged) may make the first ones differ.
        token = tokens[-1] if tokens else None
        if isinstance(token, int) and tokens[1 - _REPEATS :] == [token] * (_REPEATS - 1):
            return word, token
    return None


async def _drafted(
    transport: HttpTransport, fields: Mapping[str, Any], repeated: tuple[str, int] | None, tokens: int
) -> int | None:
    """Tokens drafted in a chat request of `tokens` output tokens."""
    shared: dict[str, Any] = {**fields, "max_tokens": tokens, "temperature": 0, "stream": False}
    prompt = _PROBE_PROMPT
    if repeated is not None:
        word, token = repeated
        prompt = word * _REPEATS
        # Not cut by an end of text, which the bias makes unlikely but not impossible.
        shared |= {"logit_bias": {str(token): _BIAS}, "ignore_eos": True}
    chat = {**shared, "messages": [{"role": "user", "content": prompt}]}
    reply = await _answer(transport, CHAT_PATH, chat)
    if reply is None:
        return None
    if reply.status in _KEY_STATUSES:
        raise key_refused(transport, CHAT_PATH, reply.status)
    if reply.status == _NOT_FOUND:
        raise RefusedError(f"{transport.endpoint.url(CHAT_PATH)} answered 404; check the address and the model name.")
    if reply.status != _OK and repeated is not None:
        # Parsers of some chat formats refuse an answer of one repeated word; the raw route has none.
        reply = await _answer(transport, _COMPLETION_PATH, {**shared, "prompt": prompt, "n_predict": tokens})
    timings = _object(read_object(reply), "timings")
    return None if timings is None else _int(timings, "draft_n") or 0


async def _answer(transport: HttpTransport, path: str, body: Mapping[str, Any]) -> Reply | None:
    try:
        return await transport.post(path, msgspec.json.encode(body), PROBE_S)
    except TransportError:
        return None


def _is_own(command: Sequence[str] | None) -> bool:
    """Whether the process behind the address may be the server: an unknown one may, a tunnel or a proxy isn't."""
    return command is None or names_model(command)


def _sampling(params: dict[str, Any] | None) -> dict[str, Any] | None:
    if params is None:
        return None
    return {name: value for name, value in params.items() if not _NOISE.fullmatch(name)}


def _digest(text: str | None) -> str | None:
    return None if text is None else hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _speculative(slots: list[dict[str, Any]] | None) -> bool | None:
    said = [slot["speculative"] for slot in slots or () if isinstance(slot.get("speculative"), bool)]
    return any(said) if said else None


def _entries(listing: dict[str, Any] | None) -> list[dict[str, Any]]:
    data = (listing or {}).get("data")
    return [entry for entry in data if isinstance(entry, dict)] if isinstance(data, list) else []


def _object(value: Any, name: str) -> dict[str, Any] | None:
    member = value.get(name) if isinstance(value, dict) else None
    return member if isinstance(member, dict) else None


def _text(value: dict[str, Any] | None, name: str) -> str | None:
    member = (value or {}).get(name)
    return member if isinstance(member, str) else None


def _int(value: dict[str, Any] | None, name: str) -> int | None:
    member = (value or {}).get(name)
    return member if isinstance(member, int) and not isinstance(member, bool) else None


def _min_int(values: list[dict[str, Any]] | None, name: str) -> int | None:
    return min((number for value in values or () if (number := _int(value, name)) is not None), default=None)
