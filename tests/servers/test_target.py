"""Every kind of variant ends in a target: a server that is ready, known, and given back."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from loadgen.client.chat import CHAT_PATH
from loadgen.client.request_body import build_body
from loadgen.errors import ExperimentError, TargetError, VariantError
from loadgen.experiment.model import Experiment
from loadgen.servers.target import Target, open_target
from tests.servers.standins.gateway import Gateway
from tests.servers.standins.llama import EmbeddedBackend, FakeBackend, FakeLlama
from tests.servers.standins.router import Router

SMALL = ("-t", "1", "-tb", "1", "--poll", "0", "-np", "2", "-c", "2048")
MTP = ("--spec-type", "draft-mtp", "--spec-draft-n-max", "3")


def _experiment(*variants: dict[str, Any], **fields: Any) -> Experiment:
    return Experiment.model_validate({"variants": variants, "baseline": variants[0]["name"], "levels": (1,), **fields})


async def _open(experiment: Experiment, folder: Path, index: int = 0, *, probe: bool = True) -> Target:
    return await open_target(
        experiment.variants[index],
        experiment,
        log_path=folder / f"{index}.log",
        on_wait=lambda _what: None,
        probe=probe,
    )


async def _says(target: Target, **fields: Any) -> dict[str, Any]:
    """The body that a request to the target has."""
    messages = [{"role": "user", "content": "Hello"}]
    extra = {**target.body, **fields}
    body = build_body(messages, model=target.model, max_tokens=4, exact_length=False, extra=extra)
    reply = await target.transport.post(CHAT_PATH, body, 30)
    return {"status": reply.status, "body": body}


def _size(path: Path) -> int:
    return path.stat().st_size


@contextmanager
def _real_router(model: Path) -> Iterator[Router]:
    shared = ("-m", str(model), *SMALL, "--metrics")
    with Router({"off": lambda: EmbeddedBackend(*shared), "mtp": lambda: EmbeddedBackend(*shared, *MTP)}) as router:
        yield router


@pytest.mark.live
async def test_presets_of_a_router_take_turns(tiny_model: Path, tmp_path: Path) -> None:
    """A real server behind the router's API: each preset is loaded, probed and unloaded; requests carry its name."""
    with _real_router(tiny_model) as router:
        experiment = _experiment(
            {"kind": "router", "name": "plain", "url": router.address, "preset": "off", "speculative": False},
            {"kind": "router", "name": "spec", "url": router.address, "preset": "mtp", "speculative": True},
        )
        plain = await _open(experiment, tmp_path)
        assert plain.facts is not None
        assert (plain.facts.speculative, plain.facts.drafted, plain.facts.slots) == (False, 0, 2)
        assert plain.facts.model_bytes == _size(tiny_model)
        assert (await _says(plain))["status"] == 200
        await plain.close()
        assert router.statuses() == {"off": "unloaded", "mtp": "unloaded"}
        spec = await _open(experiment, tmp_path, 1)
        assert spec.facts is not None
        assert spec.facts.speculative
        assert spec.facts.drafted
        start = spec.describe(run="r", round_=1)
        await spec.close()
    assert router.orders == ["load off", "unload off", "load mtp", "unload mtp"]
    assert start.command is not None
    assert start.command[-4:] == list(MTP)
    assert start.ready_s is not None
    assert (start.target, start.log) == (router.address, None)
    assert start.ledger_missing == "nobody named its log (--server-log)"
    rows = {line.component: line.rows for line in start.ledger if line.source == "gguf"}
    assert (rows["recurrent_state"], rows["kv"]) == (4, None)


async def test_a_preset_that_is_not_what_it_says_is_given_back(tmp_path: Path) -> None:
    """The error names the variant, and nothing of it stays loaded."""
    with Router({"mtp": FakeBackend}) as router:
        experiment = _experiment(
            {"kind": "router", "name": "mtp", "url": router.address, "preset": "mtp", "speculative": True}
        )
        with pytest.raises(VariantError, match="variant 'mtp': its server runs without speculation"):
            await _open(experiment, tmp_path)
        assert router.statuses() == {"mtp": "unloaded"}


@pytest.mark.parametrize(
    ("coresident", "orders"), [(False, ["load a", "unload a", "load b"]), (True, ["load a", "load b"])]
)
async def test_presets_run_side_by_side_only_if_asked(tmp_path: Path, coresident: bool, orders: list[str]) -> None:
    """A preset left loaded by an earlier block goes before the next is loaded, unless variants share the device."""
    with Router({"a": FakeBackend, "b": FakeBackend}, models_max=2) as router:
        urls = (router.address, router.address + "/v1/")  # the same server in two spellings
        experiment = _experiment(
            *(
                {"kind": "router", "name": name, "url": url, "preset": name}
                for name, url in zip("ab", urls, strict=True)
            ),
            coresident=coresident,
        )
        first = await _open(experiment, tmp_path)
        second = await _open(experiment, tmp_path, 1)
        assert router.orders == orders
        await first.close()
        await second.close()


@pytest.mark.live
async def test_a_real_server_behind_a_gateway_is_known(tiny_model: Path, tmp_path: Path) -> None:
    """Control routes go through the gateway; closing leaves the model running, the next one swaps it away."""
    shared = ("-m", str(tiny_model), *SMALL, "--metrics")
    models = {"off": lambda: EmbeddedBackend(*shared), "mtp": lambda: EmbeddedBackend(*shared, *MTP)}
    with Gateway(models) as gateway:
        experiment = _experiment(
            {"kind": "model", "name": "off", "url": gateway.address, "model": "off", "speculative": False},
            {"kind": "model", "name": "mtp", "url": gateway.address, "model": "mtp", "speculative": True},
        )
        off = await _open(experiment, tmp_path)
        await off.close()
        assert gateway.running == ["off"]
        mtp = await _open(experiment, tmp_path, 1)
        assert mtp.facts is not None
        assert (mtp.facts.kind, mtp.facts.speculative, mtp.facts.slots) == ("llama-server", True, 2)
        assert mtp.facts.drafted
        assert b'"model":"mtp"' in (await _says(mtp))["body"]
        assert await mtp.control.metrics() is not None
        assert (gateway.running, mtp.pid, mtp.alive()) == (["mtp"], None, True)
        await mtp.close()


async def test_a_command_makes_the_server_the_variants(tmp_path: Path) -> None:
    """Its output is the target's log; the server keeps running."""
    with FakeLlama() as llama:
        experiment = _experiment(
            {"kind": "switch", "name": "mtp", "url": llama.address, "command": ("echo", "switched"), "model": "m"}
        )
        target = await _open(experiment, tmp_path)
        assert (target.log(), target.log_tail(1), target.model) == ("switched\n", "switched", "m")
        start = target.describe(run="r", round_=1)
        await target.close()
        assert (start.log, start.command, start.ledger) == ("0.log", None, [])
        assert start.ready_s is not None


def _honours(body: Any) -> int:
    return 0 if body.get("speculative.n_max") == 0 else 30


async def test_fields_of_a_request_are_probed_with_and_without(tmp_path: Path) -> None:
    """Also where nothing else is probed, and every request of the variant carries them."""
    with FakeLlama(drafts=_honours, speculative=True) as llama:
        experiment = _experiment(
            {
                "kind": "request",
                "name": "off",
                "url": llama.address,
                "body": {"speculative.n_max": 0},
                "speculative": False,
            },
        )
        target = await _open(experiment, tmp_path, probe=False)
        assert target.facts is not None
        assert (target.facts.drafted, target.facts.drafted_plain) == (0, 30)
        await _says(target)
        assert llama.bodies[-1]["speculative.n_max"] == 0
        await target.close()


async def test_a_server_that_ignores_the_fields_is_refused(tmp_path: Path) -> None:
    """llama-server does: it would compare speculation with itself. The values stay unsaid: one may be a secret."""
    with FakeLlama(drafts=lambda _body: 30, speculative=True) as llama:
        experiment = _experiment(
            {"kind": "request", "name": "off", "url": llama.address, "body": {"spec": "hush"}, "speculative": False}
        )
        with pytest.raises(VariantError, match=r"variant 'off': its server ignores spec: .*two servers") as caught:
            await _open(experiment, tmp_path)
    assert "hush" not in str(caught.value)


@pytest.mark.live
async def test_a_launched_server_runs_in_its_folder(tiny_model: Path, tmp_path: Path) -> None:
    """A relative model path counts from the folder, the log is where it was asked for, and closing ends the server."""
    experiment = _experiment(
        {
            "kind": "embedded",
            "name": "off",
            "args": ("-m", tiny_model.name, *SMALL),
            "cwd": str(tiny_model.parent),
            "speculative": False,
        }
    )
    target = await _open(experiment, tmp_path)
    try:
        assert target.facts is not None
        assert target.facts.model_bytes == _size(tiny_model)
        assert target.pid is not None
        assert psutil.Process(target.pid).cwd() == str(tiny_model.parent)
        assert (target.alive(), target.body) == (True, {})
        assert target.ledger()
    finally:
        await target.close()
    assert not target.alive()


async def test_a_running_server_is_found_and_left(tmp_path: Path) -> None:
    """Nothing is started, stopped or sent but questions."""
    with FakeLlama() as llama:
        experiment = _experiment({"name": "off", "url": llama.address, "kind": "url"})
        target = await _open(experiment, tmp_path, probe=False)
        assert (target.model, target.log(), target.pid, target.alive()) == (None, None, None, True)
        assert llama.bodies == []
        await target.close()


@pytest.mark.parametrize(
    "fields",
    [
        {"kind": "url"},
        {"kind": "router", "preset": "off"},
        {"kind": "model", "model": "off"},
        {"kind": "switch", "command": ("true",)},
        {"kind": "request", "body": {"a": 1}, "speculative": False},
    ],
)
async def test_nobody_there_is_said_for_every_kind(tmp_path: Path, fields: dict[str, Any]) -> None:
    """One message, and soon."""
    experiment = _experiment({"name": "off", "url": "http://127.0.0.1:1", **fields}, wait_s=0.2)
    with pytest.raises(TargetError, match=r"nobody answers at http://127\.0\.0\.1:1; start the server"):
        await _open(experiment, tmp_path)


async def test_a_key_that_is_not_set_is_a_mistake_of_the_experiment(tmp_path: Path) -> None:
    """Before anything is asked."""
    experiment = _experiment(
        {"name": "off", "url": "http://127.0.0.1:1", "kind": "url"}, api_key_env="NO_SUCH_KEY_4711"
    )
    with pytest.raises(ExperimentError, match="NO_SUCH_KEY_4711"):
        await _open(experiment, tmp_path)
