"""Whole runs over variants that are brought up in other ways than by starting them, and runs that stop early."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from loadgen.analysis.measured.trial import trials_of
from loadgen.analysis.output_check import judge
from loadgen.errors import VariantError
from loadgen.experiment.model import Experiment
from loadgen.gguf.tiny import write_tiny_model
from loadgen.records.output_check import OutputCheck
from loadgen.records.run import Run
from loadgen.records.run_folder import RunWriter, read_run
from loadgen.replay.ending import Ending
from loadgen.replay.lineup import Lineup
from loadgen.replay.sweep import Sweep
from tests.replay.notes import Notes
from tests.servers.standins.gateway import Gateway
from tests.servers.standins.llama import EmbeddedBackend, FakeBackend, FakeLlama
from tests.servers.standins.router import Router
from tests.servers.standins.web import Exchange


def reason(check: OutputCheck, baseline: OutputCheck | None) -> str | None:
    """Why a check fails, as the command line judges it."""
    judged = judge(check, baseline)
    return "; ".join(judged.reasons) if judged.result == "failed" else None


def experiment(*variants: dict[str, Any], **fields: Any) -> Experiment:
    """The shortest run over these variants, the first being the baseline."""
    shortest = {"levels": (1,), "workload": "demo", "rounds": 1, "time_budget_s": 1, "warmup_s": 0.2}
    return Experiment.model_validate({"variants": variants, "baseline": variants[0]["name"], **shortest, **fields})


async def play(asked: Experiment, folder: Path) -> tuple[Ending, Run, Notes]:
    """Run it."""
    writer, observer = RunWriter(folder), Notes()
    try:
        ending = await Sweep(asked, writer, observer, asyncio.Event(), judge=reason).run()
    finally:
        writer.close()
    return ending, read_run(folder), observer


@contextmanager
def real_router(folder: Path) -> Iterator[Router]:
    """A router in front of real servers."""
    model = str(write_tiny_model(folder / "small.gguf"))
    shared = ("-m", model, "-t", "1", "-tb", "1", "--poll", "0", "-np", "2", "-c", "2048", "--metrics")
    spec = ("--spec-type", "draft-mtp", "--spec-draft-n-max", "3", "--spec-synth-len", "3")
    with Router({"off": lambda: EmbeddedBackend(*shared), "mtp": lambda: EmbeddedBackend(*shared, *spec)}) as router:
        yield router


@pytest.mark.live
async def test_presets_of_a_router_alternate_at_every_level(tmp_path: Path) -> None:
    """Each block loads its preset anew and unloads it, control routes included, and only one of them drafts."""
    with real_router(tmp_path) as router:
        ending, run, _ = await play(
            experiment(
                {"kind": "router", "name": "off", "url": router.address, "preset": "off", "speculative": False},
                {"kind": "router", "name": "mtp", "url": router.address, "preset": "mtp", "speculative": True},
                levels=(1, 2),
            ),
            tmp_path / "run",
        )
        assert router.statuses() == {"off": "unloaded", "mtp": "unloaded"}
    assert ending == Ending("complete", None)
    order = [(trial.variant, trial.level) for trial in run.trials if trial.round == 1]
    first, second = order[0][1], order[2][1]
    assert order == [("off", first), ("mtp", first), ("mtp", second), ("off", second)]
    # Looked at once each (the baseline together with its pilot), then one load a block.
    assert router.orders == [
        f"{what} {name}" for name in ("off", "mtp", "off", "mtp", "mtp", "off") for what in ("load", "unload")
    ]
    assert all(trial.complete and trial.server_alive for trial in run.trials)
    drafted = {
        trial.record.variant: sum(metrics.drafted or 0 for _, metrics in trial.ok) > 0 for trial in trials_of(run)
    }
    assert drafted == {"off": False, "mtp": True}


async def test_a_gateway_swaps_before_a_trial_never_in_it(tmp_path: Path) -> None:
    """Every request of a trial is answered by the model that was brought up before it."""
    with Gateway({"off": FakeBackend, "mtp": lambda: FakeBackend(speculative=True)}) as gateway:
        ending, run, _ = await play(
            experiment(
                {"kind": "model", "name": "off", "url": gateway.address, "model": "off"},
                {"kind": "model", "name": "mtp", "url": gateway.address, "model": "mtp"},
            ),
            tmp_path / "run",
        )
    assert ending == Ending("complete", None)
    assert gateway.swaps == ["off", "mtp", "off", "mtp"]
    assert all(trial.complete for trial in run.trials)
    assert {start.facts.slots for start in run.starts} == {2}


async def test_servers_that_differ_stop_the_run(tmp_path: Path) -> None:
    """More slots are more than speculation: the run stops before anything is compared, and says how to go on."""
    with FakeLlama() as off, FakeLlama(speculative=True) as mtp:
        mtp.answers["/slots"].append({**mtp.answers["/slots"][0], "id": 2})
        variants = (
            {"kind": "url", "name": "off", "url": off.address},
            {"kind": "url", "name": "mtp", "url": mtp.address},
        )
        with pytest.raises(VariantError, match=r"off and mtp differ in slots \(2 and 3\).*--allow-different slots"):
            await play(experiment(*variants), tmp_path / "run")


class Mute(FakeLlama):
    """Answers without a token."""

    def _chat(self, exchange: Exchange) -> None:
        last = {"index": 0, "delta": {}, "finish_reason": "stop"}
        exchange.stream({"choices": [last]}, {"choices": [], "usage": {"prompt_tokens": 8, "completion_tokens": 0}})


async def test_a_baseline_that_answers_nothing_ends_the_run(tmp_path: Path) -> None:
    """Empty answers fail the output check, and no trial is run on them."""
    with Mute() as server:
        ending, run, observer = await play(
            experiment({"kind": "url", "name": "off", "url": server.address}), tmp_path / "run"
        )
    assert ending == Ending("check_failed", "off: agent 0 got an empty answer on slot 0")
    assert run.trials == []
    assert "off failed the output check: agent 0 got an empty answer on slot 0" in observer.notes


async def test_a_server_that_stays_busy_is_not_measured(tmp_path: Path) -> None:
    """Somebody else's requests would be measured with ours."""
    with FakeLlama() as server:
        asked = experiment({"kind": "url", "name": "off", "url": server.address}, deadlines={"total_s": 0.2})
        writer = RunWriter(tmp_path / "run")
        lineup = Lineup(asked, writer, Notes(), asyncio.Event())
        try:
            target = await lineup.open("off", round_=1)
            assert await lineup.idle(target, trial="t-1", round_=1) is target
            server.answers["/metrics"] = "llamacpp:requests_processing 1\n"
            assert await lineup.idle(target, trial="t-1", round_=1) is None
            assert lineup.why_lost("off") == "its server stays busy with requests that aren't ours"
        finally:
            await lineup.close()
            writer.close()
