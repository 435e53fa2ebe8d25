"""What a server is, as it says itself: kind, model, slots, context, sampling, speculation."""

from collections.abc import Sequence
from typing import Any

import msgspec

from loadgen.client.chat import CHAT_PATH
from loadgen.client.control import Control, Health, key_refused
from loadgen.client.transport import HttpTransport
from loadgen.client.transport_error import TransportError
from loadgen.errors import RefusedError
from loadgen.records.model import ServerFacts

PROBE_TOKENS = 48
"""Output tokens of the probe: n-gram drafting needs 12 tokens that repeat before it starts, and the probe must stay
short on a slow server."""
PROBE_S = 120.0
"""A cold model on a slow disk takes its time for the first request."""
_PROBE_LINE = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen\n"
_PROBE_PROMPT = "Go on with these lines, changing nothing:\n" + _PROBE_LINE * 6
_OK, _NOT_FOUND = 200, 404
_KEY_STATUSES = (401, 403)


async def read_facts(control: Control, *, command: Sequence[str] | None = None, log: str | None = None) -> ServerFacts:
    """What the server says of itself. `drafted` stays null: only a probe tells.

    Args:
        control: the control routes of a server that is ready.
        command: its command line (program and arguments), where it is known.
        log: what it printed while loading, where it is ours.

    Raises `RefusedError` where the key is not accepted.
    """
    health = await control.health()
    models = _entries(await control.models())
    props = await control.props() if health is Health.READY else None
    slots = await control.slots() if health is Health.READY else None
    settings = _object(props, "default_generation_settings")
    context = _min_int(slots, "n_ctx") or _int(settings, "n_ctx")
    return ServerFacts(
        kind="llama-server" if health is Health.READY else "openai",
        model=_text(models[0], "id") if models else None,
        model_path=_text(props, "model_path"),
        build=_text(props, "build_info"),
        slots=len(slots) if slots else _int(props, "total_slots"),
        # vLLM has no slots, but says how long one request may get.
        context_per_slot=context or (_int(models[0], "max_model_len") if models else None),
        metrics=await control.metrics() is not None,
        speculative=_speculative(slots),
        drafted=None,
        sampling=_object(settings, "params"),
    )


async def probe_drafts(transport: HttpTransport, model: str | None) -> int | None:
    """Tokens drafted in one short, highly repetitive request; None where the server reports none.

    None means speculation is off, or nothing was drafted, or the server doesn't say. Raises `RefusedError` where the
    chat route is missing or the key is not accepted.
    """
    body: dict[str, Any] = {
        "messages": [{"role": "user", "content": _PROBE_PROMPT}],
        "max_tokens": PROBE_TOKENS,
        # Greedy, so that a repetitive prompt is continued repetitively.
        "temperature": 0,
        "stream": False,
    }
    if model is not None:
        body["model"] = model
    try:
        reply = await transport.post(CHAT_PATH, msgspec.json.encode(body), PROBE_S)
    except TransportError:
        return None
    if reply.status in _KEY_STATUSES:
        raise key_refused(transport, CHAT_PATH, reply.status)
    if reply.status == _NOT_FOUND:
        raise RefusedError(f"{transport.endpoint.url(CHAT_PATH)} answered 404; check the address and the model name.")
    try:
        value = msgspec.json.decode(reply.body) if reply.status == _OK else None
    except msgspec.DecodeError:
        return None
    return _int(_object(value, "timings"), "draft_n")


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
