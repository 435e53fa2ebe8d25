"""Models behind a gateway are brought up by a request, and asked through it."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from loadgen.client.control import Health
from loadgen.client.endpoint import Endpoint
from loadgen.client.transport import HttpTransport
from loadgen.errors import RefusedError, VariantError
from loadgen.experiment.variant import ModelVariant
from loadgen.servers.gateway import swap_model
from loadgen.servers.lease import Lease
from loadgen.servers.preflight import read_facts
from tests.servers.standins.gateway import Gateway
from tests.servers.standins.llama import Backend, FakeBackend
from tests.servers.standins.router import Router

MODELS: dict[str, Callable[[], Backend]] = {
    "off": FakeBackend,
    "mtp": lambda: FakeBackend(speculative=True, model="real.gguf"),
    "broken": lambda: FakeBackend(exit_code=1),
    "secret": FakeBackend,
}

Start = Callable[..., Gateway]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts gateways with the models above; `secret` is not listed."""
    with ExitStack() as stack:
        yield lambda **options: stack.enter_context(Gateway(MODELS, unlisted=("secret",), **options))


async def _swap(
    gateway: Any, transport: HttpTransport, model: str, rivals: frozenset[str] = frozenset()
) -> tuple[Lease, list[str]]:
    said: list[str] = []
    variant = ModelVariant(name="v", url=gateway.address, model=model)
    return await swap_model(variant, transport, rivals=rivals, wait_s=30, on_wait=said.append), said


def _transport(gateway: Any, **options: Any) -> HttpTransport:
    return HttpTransport(Endpoint.parse(gateway.address), **options)


async def test_a_model_is_swapped_in_before_anything_is_measured(start: Start) -> None:
    """One request swaps, the next doesn't; facts and command are those of the model's own server."""
    gateway = start()
    async with _transport(gateway) as transport:
        await _swap(gateway, transport, "off")
        lease, said = await _swap(gateway, transport, "mtp")
        facts = await read_facts(lease.control)
        assert gateway.swaps == ["off", "mtp"]
        assert said == [
            "the gateway also runs off, which is no variant: it may take memory",
            "v: waiting for the gateway to bring up mtp (0 s)",
        ]
        assert (facts.kind, facts.model, facts.speculative, facts.slots) == ("llama-server", "real.gguf", True, 2)
        assert facts.metrics
        assert await lease.control.tokenize("one two") == 2
        assert lease.model == "mtp"
        assert lease.command is not None
        assert lease.command[-2:] == ("--api-key", "***")


async def test_a_model_that_was_swapped_away_is_absent(start: Start) -> None:
    """C31: health asks first what runs, so that looking swaps nothing in."""
    gateway = start()
    async with _transport(gateway) as transport:
        lease, _ = await _swap(gateway, transport, "off")
        assert await lease.control.health() is Health.READY
        gateway.stop("off")
        assert await lease.control.health() is Health.ABSENT
        assert gateway.running == []


async def test_rivals_are_stopped_where_models_run_side_by_side(start: Start) -> None:
    """Variants don't share the device."""
    gateway = start(together=True)
    async with _transport(gateway) as transport:
        await _swap(gateway, transport, "off")
        await _swap(gateway, transport, "mtp", frozenset({"off"}))
    assert gateway.running == ["mtp"]


async def test_an_unlisted_model_can_be_asked_for(start: Start) -> None:
    """llama-swap's list is not all that it serves: its answer decides."""
    gateway = start()
    async with _transport(gateway) as transport:
        await _swap(gateway, transport, "secret")
    assert gateway.running == ["secret"]


@pytest.mark.parametrize("llama_swap", [True, False])
async def test_an_unknown_model_is_answered_with_the_list(start: Start, llama_swap: bool) -> None:
    """Whoever finds out, the gateway or we."""
    gateway = start(llama_swap=llama_swap)
    async with _transport(gateway) as transport:
        with pytest.raises(VariantError, match="v: the gateway has no model nope; it lists broken, mtp, off"):
            await _swap(gateway, transport, "nope")


async def test_a_gateway_without_routes_is_measured_by_its_chat(start: Start) -> None:
    """Facts that only llama-server tells are null, idle is taken for granted, and its own control routes unasked."""
    gateway = start(llama_swap=False)
    async with _transport(gateway) as transport:
        lease, _ = await _swap(gateway, transport, "mtp")
        facts = await read_facts(lease.control)
        assert (facts.kind, facts.model, facts.slots, facts.speculative) == ("openai", "mtp", None, None)
        assert not facts.metrics
        assert await lease.control.wait_idle(1)
        assert await lease.control.tokenize("one") is None
        assert lease.command is None
    assert {path for _, path in gateway.seen} == {"/v1/models", "/running", "/v1/chat/completions"}


async def test_a_model_that_does_not_come_up_is_said(start: Start) -> None:
    """The status and one line."""
    gateway = start()
    async with _transport(gateway) as transport:
        with pytest.raises(VariantError) as caught:
            await _swap(gateway, transport, "broken")
    assert str(caught.value) == (
        "v: the gateway could not bring up broken: HTTP 502 unable to start process: upstream command exited "
        "prematurely; look at its log."
    )


async def test_a_limit_of_the_gateway_is_named(start: Start) -> None:
    """C29: 429 is the gateway's own limit."""
    gateway = start(limit=0)
    async with _transport(gateway) as transport:
        with pytest.raises(VariantError, match=r"HTTP 429 Too many requests: it limits .* concurrencyLimit"):
            await _swap(gateway, transport, "off")


async def test_a_router_has_a_kind_of_its_own() -> None:
    """Its evictions would go unseen."""
    with Router({"off": FakeBackend}) as router:
        async with _transport(router) as transport:
            with pytest.raises(RefusedError, match="is a llama-server router; use kind: router with preset: off"):
                await _swap(router, transport, "off")


async def test_the_key_is_needed_and_sent(start: Start) -> None:
    """C63: with it all works; without it the error says what is missing."""
    gateway = start(key="sesame")
    async with _transport(gateway, api_key="sesame") as transport:
        lease, _ = await _swap(gateway, transport, "off")
        assert await lease.control.slots() is not None
    async with _transport(gateway) as transport:
        with pytest.raises(RefusedError, match="answered 401: it needs a key"):
            await _swap(gateway, transport, "off")
