"""Memory and energy as the report tells them."""

from typing import Any

from loadgen.report.energy_lines import energy_lines
from loadgen.report.memory_table import memory_lines
from loadgen.units import mib_to_bytes

NO_RATE = {"value": None, "low": None, "high": None, "n": 0, "estimable": False}


def component(name: str, mib: float, *, device: str = "CPU", rows: int | None = None, **more: Any) -> dict[str, Any]:
    """A line of a ledger."""
    return {"component": name, "bytes": mib_to_bytes(mib), "source": "log", "device": device, "rows": rows, **more}


def entry(variant: str, *ledger: dict[str, Any], **known: Any) -> dict[str, Any]:
    """The memory of a variant, of which nothing was seen; sizes that are given are in MiB."""
    sizes = {
        name: mib_to_bytes(value) for name, value in known.items() if name.endswith("_bytes") and value is not None
    }
    plain: dict[str, Any] = {
        "variant": variant, "source": None, "budget_bytes": None, "budget_source": None, "peak_bytes": None,
        "p95_bytes": None, "before_bytes": None, "delta_bytes": None, "margin_bytes": None, "margin_asked_bytes": None,
        "safety": "unknown", "safety_reason": "no budget was given to hold it against", "devices": [],
        "foreign_growth_bytes": None, "growth_bytes_per_hour": NO_RATE, "growth_less": None, "watched_s": None,
        "leak": None, "ledger": list(ledger), "ledger_source": "log" if ledger else None,
        "ledger_missing": None, "unaccounted": [], "ledger_bytes": None, "unexplained_bytes": None, "slots": None,
        "slot_bytes": None, "slots_worth": None, "energy": None,
    }  # fmt: skip
    return {**plain, **known, **sizes}


def lines(*entries: dict[str, Any]) -> list[str]:
    """The lines of a run whose baseline is `off`."""
    return memory_lines({"run": {"baseline": "off"}, "memory": list(entries)})


def test_the_multiplied_state_is_spelled_out() -> None:
    """3.28 MiB × (1 + 3) rows a slot = 13.12 MiB, and what else differs, in slots too."""
    off = entry("off", component("recurrent_state", 3.28, rows=1), slot_bytes=0.82)
    mtp = entry(
        "mtp",
        component("recurrent_state", 13.12, rows=4),
        component("mtp_kv", 2),
        component("mtp_kv", 2, device="GPU"),
        slots_worth=16.878,
    )
    assert lines(off, mtp) == [
        "off: 3.28 MiB = recurrent state 3.28 MiB",
        "mtp: 17.12 MiB = recurrent state 13.12 MiB + mtp kv 4.00 MiB",
        (
            "mtp − off: +13.84 MiB (mtp kv +4.00 MiB, recurrent state +9.84 MiB); that would buy 16.9 more slots of "
            "off, 0.82 MiB each at its context"
        ),
        "recurrent state: 3.28 MiB × 4 rows a slot (1 + 3 draft tokens) = 13.12 MiB; the log says 13.12 MiB",
    ]
    less = entry("less", component("recurrent_state", 1.64, rows=1), slots_worth=-2.0)
    assert lines(off, less)[-1].endswith("; that is the memory of 2.00 slots of off, 0.82 MiB each at its context")


def test_without_a_log_there_is_no_ledger() -> None:
    """A server that ran already shows nothing, not zeros; with a memory watch, its use alone."""
    assert lines(entry("off")) == []
    seen = entry("off", peak_bytes=100, p95_bytes=90, source="nvml:used_bytes")
    assert lines(seen) == [
        "off: at most 100.00 MiB by nvml:used_bytes, 90.00 MiB at p95; unknown: no budget was given to hold it against"
    ]


def test_host_memory_stands_beside_the_ledger_with_its_limits() -> None:
    """It is in host memory and grows, so it doesn't add to what was loaded."""
    off = entry(
        "off",
        component("model", 32),
        component("prompt_cache", 165.5, device="Host", limit_bytes=mib_to_bytes(8192)),
        component("checkpoints", 12, device="Host", taken=168, each_bytes=mib_to_bytes(0.41), per_slot=32),
    )
    assert lines(off) == [
        (
            "off: 32.00 MiB = model 32.00 MiB; beside it the prompt cache held 165.50 MiB of 8,192.00 MiB, context "
            "checkpoints 12.00 MiB (168 taken of 0.41 MiB at most)"
        )
    ]


def test_a_predicted_ledger_is_called_so() -> None:
    """What no log told is no fact; estimates within it are marked, and the reason is told."""
    predicted = [{**component("model", 32), "source": "gguf"}, {**component("compute", 8), "source": "estimated"}]
    told = entry("off", *predicted, ledger_source="predicted", ledger_missing="nobody named its log (--server-log)")
    assert lines(told) == [
        (
            "off: 40.00 MiB predicted from the GGUF and the command = model 32.00 MiB + compute about 8.00 MiB; "
            "predicted, because nobody named its log (--server-log)"
        )
    ]
    seen = {**told, "peak_bytes": mib_to_bytes(50), "p95_bytes": mib_to_bytes(50), "source": "process:rss_bytes"}
    assert "; +10.00 MiB beyond the prediction; " in lines({**seen, "unexplained_bytes": mib_to_bytes(10)})[1]


def test_the_multiplied_state_counts_the_slots_where_they_differ() -> None:
    """0.82 MiB a row × 8 slots × 4 rows, against 4 slots of the baseline."""
    off = entry("off", component("recurrent_state", 3.28, rows=1), slots=4)
    mtp = entry("mtp", component("recurrent_state", 26.24, rows=4), slots=8)
    assert lines(off, mtp)[-1] == (
        "recurrent state: 0.82 MiB × 8 slots × 4 rows a slot (1 + 3 draft tokens) = 26.24 MiB; the log says 26.24 MiB"
    )


def test_predictions_are_not_compared_with_logs() -> None:
    """Two predictions are, and nothing in their difference is said to come from a log."""
    off = entry("off", component("recurrent_state", 3.28, rows=1))
    state = {**component("recurrent_state", 13.12, rows=4), "source": "gguf"}
    mtp = entry("mtp", state, ledger_source="predicted")
    assert len(lines(off, mtp)) == 2
    both = lines({**off, "ledger_source": "predicted"}, mtp)
    assert both[-1] == "recurrent state: 3.28 MiB × 4 rows a slot (1 + 3 draft tokens) = 13.12 MiB"


def test_a_missing_ledger_says_why() -> None:
    """Null is no silence."""
    assert lines(entry("off", ledger_missing="its log can't be read")) == ["off: no ledger: its log can't be read"]


def test_what_llama_cpp_can_not_account_for_is_shown() -> None:
    """By device."""
    unaccounted = [{"device": "CUDA0", "bytes": mib_to_bytes(2183)}]
    seen = entry("off", peak_bytes=100, p95_bytes=90, source="nvml:used_bytes", unaccounted=unaccounted)
    assert "; llama.cpp itself found 2,183.00 MiB on CUDA0 used by the driver and others at its end; " in lines(seen)[0]


def test_use_tells_what_was_there_before_what_is_left_and_what_nobody_explains() -> None:
    """Case C69: before, since, others; devices one by one where there are several."""
    off = entry(
        "off", source="nvml:used_bytes", peak_bytes=28887, p95_bytes=28000, before_bytes=1585, delta_bytes=27302,
        unexplained_bytes=-12, foreign_growth_bytes=2000, budget_bytes=32768, margin_bytes=3881,
        margin_asked_bytes=1638.4, safety="safe", safety_reason=None,
        devices=[
            {"device": "GPU-b", "peak_bytes": mib_to_bytes(20000), "total_bytes": mib_to_bytes(24576)},
            {"device": "GPU-c", "peak_bytes": mib_to_bytes(8887), "total_bytes": None},
        ],
    )  # fmt: skip
    assert lines(off) == [
        (
            "off: at most 28,887.00 MiB by nvml:used_bytes, 28,000.00 MiB at p95; 1,585.00 MiB before its load, "
            "+27,302.00 MiB since; −12.00 MiB beyond the ledger; other processes grew by 2,000.00 MiB meanwhile; "
            "GPU-b at most 20,000.00 MiB of 24,576.00 MiB; GPU-c at most 8,887.00 MiB; 3,881.00 MiB of 32,768.00 MiB "
            "left, 1,638.40 MiB asked for: safe"
        )
    ]


def test_growth_is_told_where_it_can_be_judged() -> None:
    """A leak and a steady server with rate and interval; an hour's rate from some seconds not at all."""
    rate = {"value": mib_to_bytes(200), "low": mib_to_bytes(150), "high": mib_to_bytes(250), "n": 6}
    known: dict[str, Any] = {
        "peak_bytes": 300, "p95_bytes": 290, "source": "process:rss_bytes", "watched_s": 1800.0,
        "growth_bytes_per_hour": rate,
    }  # fmt: skip
    assert lines(entry("off", leak=True, growth_less="prompt cache and checkpoints", **known))[-1] == (
        "off: +200.00 MiB an hour less prompt cache and checkpoints over 30:00 min of one server "
        "(95 % interval +150.00 MiB to +250.00 MiB): it leaks"
    )
    assert lines(entry("off", leak=False, **known))[-1].endswith("steady")
    assert len(lines(entry("off", leak=None, **known))) == 1


def test_energy_is_told_by_concurrency_with_idle_power() -> None:
    """Per task and per token; without idle power, and without enough power, it says so."""
    joules = {"value": 1500.0, "low": 1400.0, "high": 1600.0, "n": 3}
    single = {"value": 150.0, "low": None, "high": None, "n": 2, "estimable": False}
    level = {
        "concurrency": 2, "watts": 300.0, "joules_per_task": joules, "joules_per_output_token": single,
        "joules_per_task_above_idle": {**joules, "value": 1000.0}, "joules_per_output_token_above_idle": None,
    }  # fmt: skip
    unknown = {**level, "concurrency": 4, "watts": None}
    energy = {"source": "nvml", "idle_watts": 100.0, "by_concurrency": [level, unknown]}
    summary = {"memory": [entry("off", energy=energy), entry("mtp", energy={**energy, "idle_watts": None})]}
    told = energy_lines(summary)
    assert told[:2] == [
        (
            "off at 2 agents: 300 W by nvml, 1,500 J [1,400, 1,600] per task, 150 J per output token; above the idle "
            "100 W 1,000 J [1,400, 1,600] and n/a"
        ),
        "off at 4 agents: n/a, power was read for too little of its trials",
    ]
    assert told[2].endswith("150 J per output token; idle power was not measured")
    assert energy_lines({"memory": [entry("off")]}) == []
