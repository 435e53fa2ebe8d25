"""Presets of a llama-server router are loaded for their trials, watched, and unloaded after them."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from loadgen.client.control import Health
from loadgen.client.endpoint import Endpoint
from loadgen.client.transport import HttpTransport
from loadgen.errors import RefusedError, UnreachableError, VariantError
from loadgen.experiment.variant import RouterVariant
from loadgen.servers.lease import Lease
from loadgen.servers.preflight import read_facts
from loadgen.servers.router import RouterControl, load_preset
from tests.servers.standins.llama import Backend, FakeBackend, FakeLlama
from tests.servers.standins.router import Router

PRESETS: dict[str, Callable[[], Backend]] = {
    "off": FakeBackend,
    "mtp/7 a&b": lambda: FakeBackend(speculative=True),
    "broken": lambda: FakeBackend(exit_code=1),
    "endless": lambda: FakeBackend(looks=1_000_000),
}

Start = Callable[..., Router]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts routers with the presets above."""
    with ExitStack() as stack:
        yield lambda **options: stack.enter_context(Router(PRESETS, **options))


async def _load(
    router: Router, transport: HttpTransport, preset: str, *, rivals: frozenset[str] = frozenset(), wait_s: float = 30
) -> tuple[Lease, list[str]]:
    said: list[str] = []
    variant = RouterVariant(name="v", url=router.address, preset=preset)
    lease = await load_preset(variant, transport, rivals=rivals, wait_s=wait_s, on_wait=said.append)
    return lease, said


def _transport(router: Any, **options: Any) -> HttpTransport:
    return HttpTransport(Endpoint.parse(router.address), **options)


async def test_a_preset_is_loaded_read_and_unloaded(start: Start) -> None:
    """A load is answered at once: we wait for `loaded`. Facts, tokens and command are the preset's own server's."""
    router = start()
    async with _transport(router) as transport:
        lease, said = await _load(router, transport, "mtp/7 a&b")
        facts = await read_facts(lease.control)
        assert said[-1] == "v: waiting for the router to load mtp/7 a&b (0 s)"
        assert (facts.kind, facts.model, facts.speculative, facts.slots) == ("llama-server", "mtp/7 a&b", True, 2)
        assert await lease.control.tokenize("one two three") == 3
        assert await lease.control.wait_idle(5)
        assert lease.model == "mtp/7 a&b"
        assert lease.command is not None
        assert lease.command[-2:] == ("--api-key", "***")
        await lease.release()
    assert router.orders == ["load mtp/7 a&b", "unload mtp/7 a&b"]
    assert router.statuses()["mtp/7 a&b"] == "unloaded"


async def test_rivals_are_unloaded_and_others_are_told(start: Start) -> None:
    """Presets of the same experiment don't share the device; somebody else's model is said and left alone."""
    router = start(models_max=3)
    router.load("off")
    router.load("endless")
    async with _transport(router) as transport:
        _, said = await _load(router, transport, "mtp/7 a&b", rivals=frozenset({"off"}))
    assert router.orders == ["unload off", "load mtp/7 a&b"]
    assert "the router also runs endless, which is no variant: it takes memory and may take turns" in said
    assert router.statuses() == {"off": "unloaded", "mtp/7 a&b": "loaded", "broken": "unloaded", "endless": "loading"}


async def test_a_preset_that_runs_already_is_loaded_anew(start: Start) -> None:
    """Every block starts from the same state, also where somebody has warmed the preset."""
    router = start()
    router.load("off")
    async with _transport(router) as transport:
        await _load(router, transport, "off")
    assert router.orders == ["unload off", "load off"]


async def test_an_evicted_or_sleeping_preset_is_not_ready(start: Start) -> None:
    """C31: health tells between trials, and asking loads nothing. Loaded again is another server: absent too."""
    router = start()
    async with _transport(router) as transport:
        lease, _ = await _load(router, transport, "off")
        assert await lease.control.health() is Health.READY
        router.sleeping.add("off")
        assert await lease.control.health() is Health.LOADING
        router.load("mtp/7 a&b")
        assert await lease.control.health() is Health.ABSENT
        assert await lease.control.slots() is None
        assert router.statuses()["off"] == "unloaded"
        router.load("off")
        while router.statuses()["off"] != "loaded":
            pass
        assert await lease.control.health() is Health.ABSENT
    assert all("autoload=false" in path for _, path in router.seen if path.startswith(("/slots", "/props?m")))


async def test_success_and_then_failed_is_an_error(start: Start) -> None:
    """The router says success, and the preset's server ends: its exit code and where to look."""
    router = start()
    async with _transport(router) as transport:
        with pytest.raises(VariantError) as caught:
            await _load(router, transport, "broken")
    assert str(caught.value) == (
        "v: the router could not load preset broken: its server ended with exit code 1 while loading. The reason is in "
        "the router's own output, where the lines of each server begin with its port in brackets."
    )


async def test_a_preset_that_loads_too_long_is_given_back(start: Start) -> None:
    """After the wait it is an error, and the preset is unloaded."""
    router = start()
    async with _transport(router) as transport:
        with pytest.raises(UnreachableError, match=r"v: preset endless is still loading after 0\.2 s; wait longer"):
            await _load(router, transport, "endless", wait_s=0.2)
    assert router.orders == ["load endless", "unload endless"]


async def test_an_unknown_preset_is_answered_with_those_there_are(start: Start) -> None:
    """Nothing is loaded or unloaded."""
    router = start()
    async with _transport(router) as transport:
        with pytest.raises(VariantError, match="no preset nope; it has broken, endless, mtp/7 a&b, off"):
            await _load(router, transport, "nope")
    assert router.orders == []


async def test_a_single_server_is_no_router() -> None:
    """How to start one is said."""
    with FakeLlama() as llama:
        async with _transport(llama) as transport:
            with pytest.raises(RefusedError, match="is no router with presets; start one with `llama-server --models-"):
                await load_preset(
                    RouterVariant(name="v", url=llama.address, preset="off"),
                    transport,
                    rivals=set(),
                    wait_s=5,
                    on_wait=lambda _what: None,
                )


async def test_the_key_goes_to_every_route(start: Start) -> None:
    """C63: with the key all works; without it the error says what is missing."""
    router = start(key="sesame")
    async with _transport(router, api_key="sesame") as transport:
        lease, _ = await _load(router, transport, "off")
        assert await lease.control.slots() is not None
        await lease.release()
    async with _transport(router) as transport:
        with pytest.raises(RefusedError, match="answered 401: it needs a key"):
            await _load(router, transport, "off")


async def test_a_router_that_is_gone_is_no_reason_to_wait() -> None:
    """Giving back ends at once and quietly."""
    router = Router(PRESETS).__enter__()
    async with _transport(router) as transport:
        lease, _ = await _load(router, transport, "off")
        router.close()
        await lease.release()
        with pytest.raises(UnreachableError, match="is gone"):
            await RouterControl(transport, "off").unload(30)
