"""Rules of the summary document."""

import math
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loadgen.analysis.summary import summarise
from loadgen.records.manifest import JournalEntry, Plan
from loadgen.records.model import Outcome
from loadgen.records.run import Run
from tests.records.make import journal

_C03 = {
    ("off", 1): [11.11] * 3,
    ("mtp", 1): [21.22] * 3,
    ("off", 2): [20.14] * 3,
    ("mtp", 2): [15.87] * 3,
    ("off", 4): [34.14] * 3,
    ("mtp", 4): [25.32] * 3,
}


def test_c03_the_advice_is_by_level_and_the_crossover_between(make: Any) -> None:
    """Pays at 1, costs at 2 and 4, crosses between 1 and 2; nothing beyond 4 is said."""
    found = summarise(make.run(_C03))
    assert [(c["concurrency"], c["call"]) for c in found["comparisons"]] == [(1, "pays"), (2, "costs"), (4, "costs")]
    assert [c["speedup"]["value"] for c in found["comparisons"]] == pytest.approx([1.910, 0.788, 0.742], abs=5e-4)
    assert found["crossovers"][0]["kind"] == "at"
    assert 1 < found["crossovers"][0]["concurrency"]["value"] < 2
    assert "More than 4 agents: nothing was extrapolated." in found["verdict"]["does_not_answer"]


def test_the_document_has_the_names_that_others_rely_on(make: Any) -> None:
    """Names and shapes are those of the published schema."""
    found = summarise(make.run(_C03, journal=[JournalEntry(at_ns=0, what="complete")]))
    assert found["schema"] == "loadgen-summary/1"
    assert found["run"] == {
        "id": "run", "workload": "chat", "baseline": "off", "complete": True, "resumed": 0, "rerun_of": None,
        "aa": False, "agents": None, "tool_version": "0.1.0",
    }  # fmt: skip
    cell = found["cells"][0]
    assert {
        "variant", "concurrency", "trials", "valid_trials", "client_state", "depth", "tasks_per_hour",
        "requests_per_hour", "output_tokens_per_s", "ttft_s", "tpot_s", "tpot_server_s", "task_s", "queue_wait_s",
        "step_gap_s", "acceptance_rate", "acceptance_length", "tokens_per_step", "drafted_tokens", "accepted_tokens",
        "first_turn_cached_share", "outcomes", "started", "depth_asked", "acceptance_biased",
    } <= set(cell)  # fmt: skip
    assert set(cell["ttft_s"]) == {"p50", "p90", "p95", "p99", "max"}
    assert {"value", "low", "high", "n"} <= set(cell["tasks_per_hour"])
    assert {
        "variant", "baseline", "concurrency", "metric", "speedup", "sim_low", "sim_high", "rounds", "call",
        "min_effect", "depth_asked", "not_comparable",
    } <= set(found["comparisons"][0])  # fmt: skip
    assert {"variant", "baseline", "concurrency", "metric", "ratio", "not_comparable"} <= set(
        found["latency_comparisons"][0]
    )
    assert set(found["setup"]["waits"]) == {"tool_time_cap_s", "time_scale"}
    assert {"agents", "keep", "text"} <= set(found["verdict"])
    assert (found["verdict"]["agents"], found["verdict"]["keep"]) == (None, None)
    assert {"stamps", "receive_lag_p99_s", "merged_late_share", "cpu_share"} <= set(found["client"])


def test_equal_runs_give_equal_documents_in_any_order_of_the_requests(make: Any) -> None:
    """The document is a function of the facts."""
    run = make.run(_C03)
    reordered = Run(manifest=run.manifest, trials=run.trials[::-1], requests=run.requests[::-1])
    assert summarise(run) == summarise(make.run(_C03)) == summarise(reordered)


def test_rates_of_a_cell_are_the_rates_that_were_played(make: Any) -> None:
    """20.14 tasks an hour and agent at 2 agents are 40.28 an hour."""
    cell = next(c for c in summarise(make.run(_C03))["cells"] if (c["variant"], c["concurrency"]) == ("off", 2))
    assert cell["tasks_per_hour"]["value"] == pytest.approx(40.28)
    assert (cell["trials"], cell["valid_trials"], cell["started"]) == (3, 3, 6)
    assert cell["outcomes"] == {"ok": 6}


def test_pilots_are_never_reported(make: Any) -> None:
    """Round 0 fixes trial lengths and appears nowhere."""
    run = make.run({("off", 1): [10.0] * 3})
    pilot = [msgspec.structs.replace(trial, round=0) for trial in run.trials[:1]]
    found = summarise(Run(manifest=run.manifest, trials=[*pilot, *run.trials[1:]], requests=run.requests))
    assert found["cells"][0]["trials"] == 2
    assert found["invalid"] == []


def test_invalid_trials_are_listed_and_leave_cell_and_comparison(make: Any) -> None:
    """A trial whose server died counts nowhere, and its round has no pair; its failures stay in the outcomes."""
    run = make.run({("off", 1): [10.0] * 4, ("mtp", 1): [20.0] * 4})
    trials = [
        msgspec.structs.replace(trial, server_alive=False, aborted="the server ended") if trial.order == 5 else trial
        for trial in run.trials
    ]
    requests = [
        msgspec.structs.replace(request, outcome=Outcome.CONNECTION_LOST)
        if request.trial == trials[5].trial
        else request
        for request in run.requests
    ]
    found = summarise(Run(manifest=run.manifest, trials=trials, requests=requests))
    assert found["invalid"] == [
        {
            "trial": "r2-n1-mtp", "variant": "mtp", "concurrency": 1, "round": 2,
            "reasons": ["aborted", "server_died"], "detail": "the server ended", "outcomes": {"connection_lost": 1},
        }
    ]  # fmt: skip
    mtp = found["cells"][1]
    assert (mtp["trials"], mtp["valid_trials"], mtp["started"]) == (4, 3, 4)
    assert mtp["outcomes"] == {"ok": 3, "connection_lost": 1}
    assert found["comparisons"][0]["of_rounds"] == [1, 3, 4]
    assert "1 of 8 trials do not count; the reasons are listed." in found["verdict"]["says"]


def test_c06_a_run_in_which_everything_failed_has_no_numbers(make: Any) -> None:
    """All trials invalid: null estimates, the failures counted, nothing called."""
    run = make.run({("off", 1): [10.0] * 3, ("mtp", 1): [10.0] * 3})
    requests = [
        msgspec.structs.replace(request, outcome=Outcome.HTTP_ERROR, session=f"{request.session}.{i}", turns=2)
        for request in run.requests
        for i in range(2)
    ]
    found = make.strict_json(summarise(Run(manifest=run.manifest, trials=run.trials, requests=requests)))
    for cell in found["cells"]:
        assert cell["valid_trials"] == 0
        assert cell["outcomes"] == {"http_error": 6}
        assert cell["ttft_s"]["p50"]["value"] is None
        assert cell["tasks_per_hour"]["value"] is None
    assert {entry["reasons"][0] for entry in found["invalid"]} == {"failures"}
    assert found["comparisons"][0]["call"] == "unresolved"
    assert found["comparisons"][0]["speedup"]["value"] is None


def test_c49_an_interrupted_run_without_trials_is_a_document(make: Any) -> None:
    """Nothing measured: empty lists, strict JSON, and it says so."""
    found = make.strict_json(summarise(Run(manifest=make.manifest(["off", "mtp"]))))
    assert (found["cells"], found["comparisons"], found["crossovers"]) == ([], [], [])
    assert found["run"]["complete"] is False
    assert found["verdict"]["says"] == ["No trial was measured."]
    assert found["client"]["cpu_share"] is None


def test_one_server_is_one_variant(make: Any) -> None:
    """A sweep compares nothing and says so."""
    found = summarise(make.run({("mine", 1): [10.0] * 3, ("mine", 2): [8.0] * 3}))
    assert found["comparisons"] == []
    assert "There is one variant, so nothing was compared." in found["verdict"]["says"]
    assert any("one server, mine, is one variant" in text for text in found["verdict"]["does_not_answer"])


def test_queue_wait_is_given_only_for_llama_server(make: Any) -> None:
    """Another server may send its headers at any time."""
    run = make.run({("off", 1): [10.0] * 3}, starts=[make.start("off")])
    requests = [msgspec.structs.replace(request, headers_ns=5_000_000) for request in run.requests]
    facts = {"manifest": run.manifest, "trials": run.trials, "requests": requests}
    known = summarise(Run(starts=run.starts, **facts))
    unknown = summarise(Run(starts=[make.start("off", kind="openai")], **facts))
    assert known["cells"][0]["queue_wait_s"]["p50"]["value"] == pytest.approx(0.005)
    assert unknown["cells"][0]["queue_wait_s"]["p50"]["value"] is None


def test_a_baseline_that_speculates_may_draft_and_one_that_is_off_may_not(make: Any) -> None:
    """What the server or the experiment says decides, else the name `off`."""

    def drafting(name: str, *starts: Any, **manifest: Any) -> list[Any]:
        run = make.run({(name, 1): [10.0] * 3}, starts=starts, **manifest)
        requests = [msgspec.structs.replace(request, timings={"draft_n": 4}) for request in run.requests]
        found = summarise(Run(manifest=run.manifest, starts=run.starts, trials=run.trials, requests=requests))
        return [entry["reasons"] for entry in found["invalid"]]

    assert drafting("off") == [["drafted"]] * 3
    assert drafting("base", make.start("base", speculative=False)) == [["drafted"]] * 3
    declared = [{"kind": "launch", "name": "base", "program": "p", "speculative": False}]
    assert drafting("base", variants=declared) == [["drafted"]] * 3
    assert drafting("base", make.start("base", speculative=True)) == []


def test_the_client_is_summed_over_the_trials(make: Any) -> None:
    """CPU time over wall time of all trials, the lag of the worst, the state of the worst."""
    run = make.run({("off", 1): [10.0] * 3})
    readings = [make.client(lag=lag, cpu=cpu) for lag, cpu in [(0.0001, 0.1), (0.0009, 0.8), (0.0002, 0.3)]]
    trials = [
        msgspec.structs.replace(trial, client=reading) for trial, reading in zip(run.trials, readings, strict=True)
    ]
    found = summarise(Run(manifest=run.manifest, trials=trials, requests=run.requests))
    assert found["client"]["cpu_share"] == pytest.approx(0.4)
    assert found["client"]["receive_lag_p99_s"] == pytest.approx(0.0009)
    assert (found["client"]["stamps"], found["client"]["merged_late_share"]) == ("user", None)
    assert found["cells"][0]["client_state"] == "suspect"


def test_levels_that_were_dropped_are_said(make: Any) -> None:
    """A level left out for time is a warning, not silence."""
    run = make.run({("off", 1): [10.0] * 3})
    plan = Plan(rounds=3, trials=[], dropped_levels=[16, 32], estimated_s=1.0, turn_s={})
    found = summarise(Run(manifest=run.manifest, plan=plan, trials=run.trials, requests=run.requests))
    assert [warning["kind"] for warning in found["warnings"]] == ["dropped_levels"]
    assert "16, 32 agents" in found["warnings"][0]["text"]


def test_latencies_are_compared_by_the_medians_of_paired_trials(make: Any) -> None:
    """Half the TTFT in every round: ratio 0.5, described and never called."""
    run = make.run({("off", 1): [10.0] * 3, ("mtp", 1): [10.0] * 3})
    requests = [
        msgspec.structs.replace(request, first_token_ns=50_000_000) if request.variant == "mtp" else request
        for request in run.requests
    ]
    found = summarise(Run(manifest=run.manifest, trials=run.trials, requests=requests))
    by_metric = {entry["metric"]: entry["ratio"] for entry in found["latency_comparisons"]}
    assert by_metric["median_ttft_s"]["value"] == pytest.approx(0.5)
    assert by_metric["tokens_per_turn"]["value"] == 1


def test_a_resumed_run_is_told_and_superseded_trials_count_nowhere(make: Any) -> None:
    """An attempt that was aborted is no invalid trial and no failure once it was done again."""
    entries = [journal("started"), journal("interrupted"), journal("resumed"), journal("complete")]
    run = make.run({("off", 1): [10.0] * 3}, journal=entries, rerun_of="earlier")
    first = msgspec.structs.replace(run.trials[1], trial="first", complete=False, aborted="interrupted")
    again = msgspec.structs.replace(run.trials[1], attempt=2)
    lost = make.failed(trial="first", round=2)
    found = summarise(
        Run(
            manifest=run.manifest, trials=[*run.trials[:1], first, *run.trials[2:], again],
            requests=[*run.requests, lost], journal=run.journal,
        )
    )  # fmt: skip
    assert (found["run"]["complete"], found["run"]["resumed"], found["run"]["rerun_of"]) == (True, 1, "earlier")
    assert (found["setup"]["ended"], found["setup"]["superseded_trials"]) == ("complete", 1)
    assert (found["cells"][0]["trials"], found["cells"][0]["outcomes"], found["invalid"]) == (3, {"ok": 3}, [])


def test_what_the_experiment_says_of_drafting_goes_before_what_the_server_shows(make: Any) -> None:
    """A server that takes speculation by request may show none of it in /slots."""
    variants = [{"name": "plain", "speculative": False}, {"name": "drafting", "speculative": True}]
    run = make.run(
        {("plain", 1): [10.0], ("drafting", 1): [10.0]}, variants=variants,
        starts=[make.start("plain", speculative=False), make.start("drafting", speculative=False)],
    )  # fmt: skip
    drafts = [msgspec.structs.replace(request, timings={"draft_n": 4}) for request in run.requests]
    found = summarise(Run(manifest=run.manifest, starts=run.starts, trials=run.trials, requests=drafts))
    assert [entry["variant"] for entry in found["invalid"]] == ["plain"]


def test_a_cut_line_is_said(make: Any) -> None:
    """A torn last line is a warning and ends nothing."""
    entries = [journal("complete"), journal("torn_tail_cut", "requests.jsonl: 37 bytes")]
    found = summarise(make.run({("off", 1): [10.0] * 3}, journal=entries))
    assert found["run"]["complete"] is True
    assert [warning["text"] for warning in found["warnings"]] == [
        "A torn last line was cut off a file of the run folder: requests.jsonl: 37 bytes."
    ]


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["off", "mtp"]), st.sampled_from([1, 2, 4]), st.integers(0, 4), st.sampled_from(Outcome),
            st.floats(0, 1e4), st.booleans(), st.integers(0, 3), st.integers(1, 2),
        ),
        max_size=25,
    )
)  # fmt: skip
def test_no_run_whatever_breaks_the_document(make: Any, parts: list[Any]) -> None:
    """Any mix of outcomes, durations (0 too), invalid and partial trials and attempts gives strict, consistent JSON."""
    trials, requests = [], []
    for order, (variant, level, number, outcome, seconds, complete, turn, attempt) in enumerate(parts):
        place: dict[str, Any] = {"trial": f"t{order}", "variant": variant, "level": level, "round": number}
        known = {"complete": complete, "attempt": attempt, "drift": number == 0 and turn == 0}
        trials.append(make.record(segments=[(0.0, seconds)], order=order, **known, **place))
        requests.append(make.request(first=seconds / 2, last=seconds, outcome=outcome, turn=turn, turns=4, **place))
    run = Run(manifest=make.manifest(["off", "mtp"]), trials=trials, requests=requests)
    found = make.strict_json(summarise(run))
    for cell in found["cells"]:
        assert cell["started"] == sum(cell["outcomes"].values()) == cell["trials"]
        assert cell["valid_trials"] <= cell["trials"]
    for comparison in found["comparisons"]:
        value = comparison["speedup"]["value"]
        assert value is None or (math.isfinite(value) and value > 0)
