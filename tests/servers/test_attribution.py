"""What memory is for: by the log that was named, else predicted, else a reason."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import psutil
import pytest

from loadgen.client.endpoint import Endpoint
from loadgen.experiment.model import Experiment
from loadgen.footprint.prediction import ESTIMATED, GGUF
from loadgen.records.model import ServerFacts
from loadgen.records.run_folder import RunWriter, read_run
from loadgen.replay.sweep import Sweep
from loadgen.servers.attribution import Attribution, attribute
from loadgen.servers.loadlog import read_ledger
from loadgen.servers.predicted_ledger import NotPredictableError, predicted_ledger
from tests.servers.standins.llama import FakeLlama
from tests.servers.test_loadlog import SWA

if TYPE_CHECKING:
    from tests.servers.conftest import Served

MIB = 1 << 20
HERE = Endpoint.parse("http://127.0.0.1:1")
FACTS = ServerFacts(
    kind="llama-server", model="m", model_path=None, build=None, slots=4, context_per_slot=1024, metrics=True,
    speculative=False, drafted=None, sampling=None,
)  # fmt: skip
LOADING = "srv    load_model: loading model '/m/model.gguf'\n"
SLOTS = "srv    load_model: initializing, n_slots = {}, n_ctx_slot = 1024, kv_unified = 'false'\n"


def variant(**fields: Any) -> Any:
    """One variant, by default a server that runs already."""
    plain = {"kind": "url", "name": "off", "url": "http://127.0.0.1:1", **fields}
    return Experiment.model_validate({"variants": [plain], "baseline": "off", "levels": (1,)}).variants[0]


async def of(log: Path | str | None, facts: ServerFacts = FACTS, **given: Any) -> Attribution:
    """The attribution of a server whose log is named."""
    named = variant(server_log=None if log is None else str(log))
    return await attribute(named, facts, HERE, **{"command": None, "own_log": None, **given})


async def test_a_named_log_tells_the_ledger_and_the_settings(tmp_path: Path) -> None:
    """Those of its last load; from then on it is followed."""
    log = tmp_path / "server.log"
    other = "srv    load_model: prompt cache is enabled, size limit: 512 MiB\n"
    log.write_text(
        LOADING + "load_tensors: CPU model buffer size = 9.00 MiB\n" + LOADING + SWA + SLOTS.format(4) + other
    )
    found = await of(log)
    assert list(found.ledger) == read_ledger(SWA)
    assert (found.missing, found.followed is not None) == (None, True)
    assert found.facts is not None
    assert found.facts.settings is not None
    assert (found.facts.settings["cache_ram_mib"], found.facts.settings["kv_unified"]) == (512, False)


async def test_a_log_of_another_server_is_not_taken(tmp_path: Path) -> None:
    """Its slots tell."""
    log = tmp_path / "server.log"
    log.write_text(LOADING + SWA + SLOTS.format(2))
    found = await of(log)
    assert (found.ledger, found.facts) == ((), None)
    assert found.missing is not None
    assert f"its log ({log}): it tells of a server with 2 slots, and this one has 4; nor can it be" in found.missing


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "can't be read: No such file or directory"),
        ("", "it tells no buffers of its last load: llama-server prints them at -lv 4"),
        (LOADING, "it tells no buffers"),
    ],
)
async def test_a_log_that_tells_nothing_is_a_reason(tmp_path: Path, content: str | None, message: str) -> None:
    """No ledger, and the server is measured all the same."""
    log = tmp_path / "server.log"
    if content is not None:
        log.write_text(content)
    found = await of(log)
    assert found.ledger == ()
    assert message in (found.missing or "")


async def test_of_a_router_the_lines_of_one_port_count(tmp_path: Path) -> None:
    """The port is in the command that the router tells."""
    log = tmp_path / "router.log"
    one, two = (LOADING + SWA).splitlines(), (LOADING + "load_tensors: CPU model buffer size = 9.00 MiB").splitlines()
    log.write_text("\n".join([*(f"[ 8081] {line}" for line in one), *(f"[ 8082] {line}" for line in two)]))
    preset = variant(kind="router", preset="off", server_log=str(log))
    found = await attribute(preset, FACTS, HERE, command=["llama-server", "--port", "8081"], own_log=None)
    assert list(found.ledger) == read_ledger(SWA)


async def test_a_server_that_loadgen_started_is_told_by_its_own_log() -> None:
    """Nobody names it."""
    launched = Experiment.model_validate(
        {"variants": [{"kind": "launch", "name": "off", "program": "p"}], "baseline": "off", "levels": (1,)}
    ).variants[0]
    found = await attribute(launched, FACTS, HERE, command=None, own_log=SWA)
    assert (list(found.ledger), found.missing) == (read_ledger(SWA), None)
    silent = await attribute(launched, FACTS, HERE, command=None, own_log="")
    assert silent.missing is not None
    assert silent.missing.startswith("its log tells no buffers")


async def test_what_is_no_llama_server_has_no_ledger_and_no_reason() -> None:
    """Unless somebody names its log."""
    other = msgspec.structs.replace(FACTS, kind="openai")
    assert await of(None, other) == Attribution()
    assert (await of("/none.log", other)).missing is not None


async def test_a_run_goes_on_without_its_log_and_says_why(tmp_path: Path) -> None:
    """One note, one sentence in the record, and the trials are there."""
    notes: list[str] = []

    class Observer:
        """Keeps notes."""

        def __getattr__(self, name: str) -> Any:
            return lambda *args: notes.append(args[0]) if name == "note" else None

    with FakeLlama() as server:
        asked = Experiment.model_validate(
            {
                "variants": [{"kind": "url", "name": "off", "url": server.address, "server_log": "/none.log"}],
                "baseline": "off", "levels": (1,), "workload": "demo", "rounds": 1, "time_budget_s": 1, "warmup_s": 0.2,
                "check_output": "off", "drift_check": False, "memory_source": "none",
            }
        )  # fmt: skip
        writer = RunWriter(tmp_path / "run")
        await Sweep(asked, writer, Observer(), asyncio.Event()).run()
        writer.close()
    run = read_run(tmp_path / "run")
    assert run.trials
    said = [note for note in notes if "no memory ledger" in note]
    assert len(said) == 1
    assert said[0].startswith("off: no memory ledger from a log: its log (/none.log): /none.log can't be read")
    assert run.starts[0].ledger == []
    assert run.starts[0].ledger_missing == said[0].removeprefix("off: no memory ledger from a log: ")


def command(model: Path | str, *more: str) -> list[str]:
    """A llama-server with four slots of 1024 tokens."""
    return ["llama-server", "-m", str(model), "-np", "4", "-c", "4096", *more]


def test_a_ledger_is_predicted_from_header_and_command(demo_model: Path) -> None:
    """With the rows of the drafts; each line says where it comes from, and none on which device it lies."""
    ledger = predicted_ledger(command(demo_model, "--spec-type", "draft-mtp"), FACTS, HERE, {})
    by_name = {line.component: line for line in ledger}
    assert list(by_name) == [
        "model", "mtp_model", "output", "kv", "recurrent_state", "compute", "mtp_output", "mtp_kv", "mtp_compute",
    ]  # fmt: skip
    assert by_name["recurrent_state"].rows == 4
    assert {line.device for line in ledger} == {None}
    assert {line.source for name, line in by_name.items() if name.endswith("compute")} == {ESTIMATED}
    assert {line.source for name, line in by_name.items() if not name.endswith("compute")} == {GGUF}


def test_variables_count_as_arguments(demo_model: Path) -> None:
    """As llama-server reads them."""
    variables = {"LLAMA_ARG_MODEL": str(demo_model), "LLAMA_ARG_N_PARALLEL": "4", "LLAMA_ARG_CTX_SIZE": "4096"}
    assert predicted_ledger(["llama-server"], FACTS, HERE, variables) == predicted_ledger(
        command(demo_model), FACTS, HERE, {}
    )


def test_a_context_that_the_command_leaves_open_is_the_one_that_came_out(demo_model: Path) -> None:
    """Fitted to the device, it may be less than the model's own: 4 slots of 1024 tokens."""
    open_ = [word for word in command(demo_model) if word not in ("-c", "4096")]
    assert predicted_ledger(open_, FACTS, HERE, {}) == predicted_ledger(command(demo_model), FACTS, HERE, {})


def test_a_relative_path_is_that_of_the_process(demo_model: Path) -> None:
    """The one that listens at the address, here our own."""
    with FakeLlama() as server:
        here = Endpoint.parse(server.address)
        assert predicted_ledger(command(os.path.relpath(demo_model)), FACTS, here) == predicted_ledger(
            command(demo_model), FACTS, HERE, {}
        )


@pytest.mark.parametrize(
    ("words", "url", "message"),
    [
        (command("/none.gguf"), "http://192.0.2.1", "it runs on another machine, so its model file can't be read"),
        (None, "http://127.0.0.1:1", "its command line can't be seen from here"),
        (["docker-proxy", "-proto", "tcp"], "http://127.0.0.1:1", "it only passes requests on"),
        (command("/none.gguf"), "http://127.0.0.1:1", "/none.gguf"),
        (command("none.gguf"), "http://127.0.0.1:1", "relative to the directory that it runs in, which can't be seen"),
        (command("/none.gguf", "-ctk", "q3"), "http://127.0.0.1:1", "-ctk q3 in the command is no type of cache"),
        (
            ["llama-server", "-m", "/m.gguf", "-np", "2"],
            "http://127.0.0.1:1",
            "its command makes 2 slots, and it has 4",
        ),
    ],
)
def test_what_can_not_be_predicted_is_a_reason(words: list[str] | None, url: str, message: str) -> None:
    """Half a sentence."""
    with pytest.raises(NotPredictableError) as caught:
        predicted_ledger(words, FACTS, Endpoint.parse(url), {})
    assert message in str(caught.value)
    assert not str(caught.value).endswith(".")


@pytest.mark.live
async def test_a_real_server_is_attributed_by_its_log_and_predicted_without(
    demo_model: Path, serve: "Callable[..., Served]", tmp_path: Path
) -> None:
    """Both are alike but for the compute buffers, to the digit that the log prints."""
    served = serve("-m", str(demo_model), "-np", "4", "-c", "4096", "-lv", "4", "--spec-type", "draft-mtp")
    log = tmp_path / "server.log"
    log.write_text("".join(served.lines))
    here = Endpoint.parse(served.url)
    by_log = await attribute(variant(server_log=str(log)), FACTS, here, command=None, own_log=None)
    assert by_log.missing is None
    words = psutil.Process(served.process.pid).cmdline()
    predicted = await attribute(variant(), FACTS, here, command=words, own_log=None)
    assert predicted.missing == "nobody named its log (--server-log)"
    said = {line.component: line.bytes for line in predicted.ledger}
    said["model"] += said.pop("mtp_model")
    told = {line.component: line.bytes for line in by_log.ledger}
    assert said.keys() == told.keys()
    for name, count in said.items():
        assert name.endswith("compute") or f"{count / MIB:.2f}" == f"{told[name] / MIB:.2f}", name
