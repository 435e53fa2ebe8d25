"""`loadgen capacity`: what it takes, what it prints, and how it ends."""

import json
from pathlib import Path

import pytest

from loadgen.analysis.capacity.servers import HEADROOM, SPARE
from loadgen.cli.capacity import _headroom
from loadgen.errors import ExperimentError
from tests.analysis.carried import MAKE, STEADY, TWO, Cell, carried
from tests.cli.invoked import invoked
from tests.records.folder import written


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run: `off` keeps a TTFT of 2 s up to 8 agents, `mtp` up to 16 at least."""
    return written(tmp_path_factory.mktemp("runs") / "run", carried(TWO))


def test_it_says_what_to_run(folder: Path) -> None:
    """Exit 0; the run's summary is left as it is, for other limits were asked for."""
    result = invoked("capacity", str(folder), "--agents", "40", "--slo", "ttft_p95<2s,tpot_p95<80s")
    assert result.code == 0
    text = " ".join(result.out.split())
    assert "Run mtp on 5 servers: 4 carry 40 agents with 20 % headroom, and 1 may be lost." in text
    assert "off: ttft_p95<2s up to 8 agents" in text
    assert not (folder / "summary.json").exists()


def test_json_is_one_strict_document(folder: Path) -> None:
    """With everything that was asked."""
    result = invoked(
        *("capacity", str(folder), "--agents", "40", "--slo", "ttft_p95<2s", "--headroom", "0.5", "--spare", "0"),
        *("--memory", "24GiB", "--server-price", "1.20/h", "--energy-price", "0.30/kWh", "--json"),
    )
    document = json.loads(result.out)
    assert MAKE.strict_json(document) == document
    assert (result.code, document["schema"]) == (0, "loadgen-capacity/1")
    assert {name: value for name, value in document["asked"].items() if name != "limits"} == {
        "limits_from": "option", "agents": 40, "tasks_per_hour": None, "headroom": 0.5, "spare": 0,
        "memory_budget_bytes": 24 << 30, "server_price_per_hour": 1.2, "energy_price_per_kwh": 0.3,
    }  # fmt: skip
    assert [(one["variant"], one["servers"]["total"]) for one in document["parts"][0]["variants"]] == [
        ("off", 10),
        ("mtp", 5),
    ]


def test_without_a_load_there_are_no_servers(folder: Path) -> None:
    """Only how many agents each carries."""
    document = json.loads(invoked("capacity", str(folder), "--json").out)
    assert document["parts"][0]["answer"] is None
    assert [one["largest"]["value"] for one in document["parts"][0]["variants"]] == [16, 16]


def test_the_same_limits_may_be_written_as_in_other_commands(folder: Path) -> None:
    """An objective; both ways in one text."""
    result = invoked("capacity", str(folder), "--slo", "ttft=2s,attainment=90%,tpot.p95<=80s", "--json")
    limits = json.loads(result.out)["asked"]["limits"]
    assert [one["metric"] for one in limits["percentiles"]] == ["tpot.p95"]
    assert (limits["objective"]["ttft_s"], limits["objective"]["attainment"]) == (2.0, 0.9)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--slo", "ttft_p97<2s"], "--slo ttft_p97<2s: ttft takes a quantile"),
        (["--slo", "chat:ttft_p95<2s"], "--slo: the run has no class chat; it ran no mix of classes"),
        (["--slo", "fast"], "--slo fast: 'fast' is no limit"),
        (["--memory", "much"], "--memory: 'much' is not a size"),
        (["--headroom", "100%"], "--headroom 100%: that leaves nothing of a server"),
        (["--headroom", "20"], "--headroom 20: '20' is no share"),
        (["--server-price", "1.20/kWh"], "--server-price: '1.20/kWh' is no price such as 1.20/h"),
        (["--energy-price", "cheap"], "--energy-price: 'cheap' is no price such as 1.20/kWh"),
        (["--agents", "4", "--tasks-per-hour", "5"], "--agents and --tasks-per-hour both say how large the load is"),
        (["--tasks-per-hour", "0"], "--tasks-per-hour 0: a load is above 0"),
        (["--tasks-per-hour", "inf"], "--tasks-per-hour inf: a load is above 0"),
        (["--tasks-per-hour", "nan"], "--tasks-per-hour"),
        (["--agents", "0"], "--agents"),
        (["--spare", "-1"], "--spare"),
    ],
)
def test_what_can_not_be_asked(folder: Path, options: list[str], message: str) -> None:
    """Exit 2, naming the option."""
    result = invoked("capacity", str(folder), *options)
    assert result.code == 2
    assert message in result.err


def test_what_is_no_run(tmp_path: Path) -> None:
    """Exit 2."""
    result = invoked("capacity", str(tmp_path))
    assert result.code == 2
    assert "is not a run folder" in result.err


def test_where_nothing_may_be_recommended_it_ends_with_4(tmp_path: Path) -> None:
    """After the reasons."""
    cells = {("off", level): Cell(STEADY, failed=20 * level) for level in (4, 16)}
    result = invoked("capacity", str(written(tmp_path / "run", carried(cells))), "--agents", "40")
    assert result.code == 4
    assert "No trial of off counts, of 6 (failures in 6)." in result.out
    assert "no variant may be recommended; the reasons stand above" in result.err


def test_headroom_is_a_share_that_may_be_nothing() -> None:
    """In percent or not; the default is that of the analysis."""
    assert [_headroom(text) for text in ("0", "0%", "20%", "0.25")] == [0.0, 0.0, 0.2, 0.25]
    with pytest.raises(ExperimentError):
        _headroom("-1%")
    shown = " ".join(invoked("capacity", "--help").out.replace("│", " ").split())
    assert f"[default: {HEADROOM:.0%}]" in shown
    assert f"[default: {SPARE}]" in shown
