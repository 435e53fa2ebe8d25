"""Rules of memory: ledger, use, margin, safety, and what is left unexplained."""

from typing import Any

import msgspec
import pytest

from loadgen.analysis.memory.entries import memories, memory, superseded
from loadgen.records.model import Component, Sample, ServerStart

_GIB = 1 << 30
_MIB = 1 << 20
_LOAD_S = 100.0


def _sample(
    name: str,
    value: float | None,
    *,
    variant: str = "mtp",
    source: str = "process",
    at: float = 200.0,
    device: str | None = None,
    trial: str | None = "t1",
) -> Sample:
    return Sample(
        run="run", trial=trial, variant=variant, at_ns=round(at * 1e9), source=source, name=name, value=value,
        device=device,
    )  # fmt: skip


def _gpu(name: str, mib: float | None, *, at: float = 200.0, device: str = "GPU-a", **fields: Any) -> Sample:
    return _sample(
        name, None if mib is None else mib * _MIB, **{"source": "nvml", "at": at, "device": device, **fields}
    )


def _line(component: str, mib: float, device: str = "CUDA0") -> Component:
    return Component(component=component, bytes=round(mib * _MIB), source="log", device=device)


def _start(make: Any, *ledger: Component, variant: str = "mtp", **facts: Any) -> ServerStart:
    start: ServerStart = make.start(variant, ledger=ledger, **facts)
    return msgspec.structs.replace(start, at_ns=round((_LOAD_S + 1) * 1e9))  # ready after 1 s


def test_the_peak_is_the_highest_sample_of_the_variant() -> None:
    """Other variants, unreadable samples and other sources don't count; p95 is the value of rank ⌈0.95·n⌉."""
    samples = [_sample("rss_bytes", float(value), at=value) for value in range(1, 41)]
    samples += [_sample("rss_bytes", None), _sample("rss_bytes", 99.0, variant="off")]
    samples += [_sample("rss_bytes", 98.0, source="other")]
    found = memory("mtp", [], samples)
    assert (found["peak_bytes"], found["p95_bytes"], found["source"]) == (40, 38, "process:rss_bytes")


def test_proportional_size_goes_before_resident_size_unless_it_was_read_seldom() -> None:
    """Pages shared with other processes count once; a few readings would miss the peak."""
    often = [_sample("rss_bytes", 9.0), _sample("pss_bytes", 7.0)]
    found = memory("mtp", [], often)
    assert (found["peak_bytes"], found["source"]) == (7, "process:pss_bytes")
    seldom = [*often, *(_sample("rss_bytes", 9.0, at=at) for at in (201, 202))]
    assert memory("mtp", [], seldom)["source"] == "process:rss_bytes"


def test_variants_are_compared_by_the_same_size(make: Any) -> None:
    """Where one was read too seldom by its proportional size, both go by the resident one."""
    samples = [_sample(name, 9.0, variant=variant) for variant in ("off", "mtp") for name in ("pss_bytes", "rss_bytes")]
    run = make.run({("off", 1): [10.0], ("mtp", 1): [10.0]}, samples=samples)
    assert {entry["source"] for entry in memories(run, ["off", "mtp"], "off", {})} == {"process:pss_bytes"}
    run.samples.extend(_sample("rss_bytes", 9.0, at=at) for at in (201, 202))
    assert {entry["source"] for entry in memories(run, ["off", "mtp"], "off", {})} == {"process:rss_bytes"}


def test_without_a_budget_safety_is_unknown() -> None:
    """No budget, or no sample: unknown, with null, never 0, and the reason."""
    found = memory("mtp", [], [_sample("rss_bytes", 9.0)])
    assert (found["safety"], found["safety_reason"]) == ("unknown", "no budget was given to hold it against")
    nothing = memory("mtp", [], [], budget_bytes=_GIB)
    assert (nothing["safety"], nothing["peak_bytes"], nothing["margin_bytes"]) == ("unknown", None, None)
    assert (nothing["safety_reason"], nothing["leak"]) == ("no memory was seen", None)


@pytest.mark.parametrize(
    ("budget", "used", "asked", "safety"),
    [
        (8, 7, None, "safe"),
        (8, 7.1, None, "unsafe"),
        (100, 95.0, None, "safe"),
        (100, 95.1, None, "unsafe"),
        (8, 7.1, 0.5, "safe"),
        (8, 7, 2, "unsafe"),
        (8, 9, 0, "unsafe"),
    ],
)
def test_the_margin_is_held_against_what_was_asked(budget: int, used: float, asked: float | None, safety: str) -> None:
    """By default the larger of 1 GiB and 5 %, else what was asked for."""
    margin = None if asked is None else round(asked * _GIB)
    samples = [_sample("rss_bytes", used * _GIB)]
    found = memory("mtp", [], samples, budget_bytes=budget * _GIB, margin_bytes=margin)
    assert (found["safety"], found["budget_source"]) == (safety, "asked")
    assert found["margin_bytes"] == budget * _GIB - round(used * _GIB)


def test_the_devices_are_the_budget_where_none_was_given() -> None:
    """Two GPUs sum up, moment by moment: the peak is that of the sum, not the sum of peaks."""
    samples = [
        *(_gpu("total_bytes", 24576, device=device) for device in ("GPU-b", "GPU-c")),
        _gpu("used_bytes", 20000, device="GPU-b"),
        _gpu("used_bytes", 21000, device="GPU-c"),
        _gpu("used_bytes", 19000, device="GPU-b", at=201),
        _gpu("used_bytes", 21500, device="GPU-c", at=201),
    ]
    found = memory("mtp", [], samples)
    assert (found["peak_bytes"], found["budget_bytes"]) == (41000 * _MIB, 49152 * _MIB)
    assert (found["margin_bytes"], found["safety"]) == (8152 * _MIB, "safe")
    assert [(one["device"], one["peak_bytes"] // _MIB, one["margin_bytes"] // _MIB) for one in found["devices"]] == [
        ("GPU-b", 20000, 4576),
        ("GPU-c", 21500, 3076),
    ]


def test_one_full_device_is_unsafe_whatever_the_other_has_left() -> None:
    """The sum would leave 20 GiB; an allocation on the full one fails all the same."""
    samples = [
        *(_gpu("total_bytes", 24576, device=device) for device in ("GPU-b", "GPU-c")),
        _gpu("used_bytes", 24000, device="GPU-b"),
        _gpu("used_bytes", 4000, device="GPU-c"),
    ]
    found = memory("mtp", [], samples)
    assert (found["safety"], found["safety_reason"]) == ("unsafe", "GPU-b alone has less left than asked for")


def test_devices_that_the_server_may_not_use_are_no_budget(make: Any) -> None:
    """Four cards watched, one named in the log: what the others have free says nothing."""
    samples = [
        _gpu(name, mib, device=f"GPU-{n}")
        for n in range(4)
        for name, mib in (("used_bytes", 30), ("total_bytes", 24576))
    ]
    found = memory("mtp", [_start(make, _line("model", 20))], samples)
    assert (found["budget_bytes"], found["safety"]) == (None, "unknown")
    assert found["safety_reason"] == "4 devices were watched, not all used: the server's log names 1"


def test_a_device_that_never_tells_leaves_safety_unknown() -> None:
    """N/A is null and no headroom, also against a budget that was given."""
    samples = [_gpu("used_bytes", 30), _gpu("total_bytes", 24576), _gpu("used_bytes", None, device="GPU-b")]
    found = memory("mtp", [], samples, budget_bytes=48 * _GIB)
    assert (found["safety"], found["safety_reason"]) == ("unknown", "GPU-b did not tell its memory")
    silent = memory("mtp", [], [_gpu("used_bytes", None)])
    assert (silent["peak_bytes"], silent["safety"], silent["safety_reason"]) == (None, "unknown", "no memory was seen")


def test_before_peak_and_growth_of_others_are_told_apart(make: Any) -> None:
    """1585 MiB before the load, 28887 at the peak: 27302 since, of which others grew by 2000 (case C69)."""
    samples = [
        _gpu("used_bytes", 1585, at=_LOAD_S - 1, trial=None),
        _gpu("used_bytes", 26887),
        _gpu("foreign_bytes", 1585),
        _gpu("used_bytes", 28887, at=201),
        _gpu("foreign_bytes", 3585, at=201),
    ]
    start = _start(make, _line("model", 20000), _line("kv", 5000), _line("compute", 10, "CUDA_Host"))
    found = memory("mtp", [start], samples)
    assert found["before_bytes"] == 1585 * _MIB
    assert found["peak_bytes"] == 28887 * _MIB
    assert found["delta_bytes"] == 27302 * _MIB
    assert found["foreign_growth_bytes"] == 2000 * _MIB
    assert found["unexplained_bytes"] == 2302 * _MIB
    assert found["ledger_bytes"] == 25000 * _MIB


def test_without_a_look_before_the_load_there_is_no_delta() -> None:
    """Null, never the peak itself; the scope is the device (case C68 without its baseline)."""
    found = memory("mtp", [], [_gpu("used_bytes", 7325), _gpu("process_bytes", None)])
    assert (found["before_bytes"], found["delta_bytes"], found["source"]) == (None, None, "nvml:used_bytes")


def test_what_was_read_before_a_server_that_ran_already_is_no_baseline(make: Any) -> None:
    """It held its memory then, too: it counts as use."""
    ran = msgspec.structs.replace(_start(make, _line("model", 20000)), ready_s=None)
    samples = [_gpu("used_bytes", 20500, at=_LOAD_S - 1, trial=None), _gpu("used_bytes", 20100)]
    found = memory("mtp", [ran], samples)
    assert (found["before_bytes"], found["delta_bytes"], found["peak_bytes"]) == (None, None, 20500 * _MIB)


def test_a_server_in_host_memory_is_not_judged_by_a_gpu_that_it_does_not_use(make: Any) -> None:
    """Its log names the CPU alone: the process is what counts."""
    samples = [_gpu("used_bytes", 500), _gpu("total_bytes", 24576), _sample("rss_bytes", 300.0 * _MIB)]
    found = memory("mtp", [_start(make, _line("model", 200, "CPU_Mapped"), _line("kv", 50, "CPU"))], samples)
    assert (found["source"], found["budget_bytes"]) == ("process:rss_bytes", None)
    assert found["unexplained_bytes"] == 50 * _MIB
    unseen = memory("mtp", [_start(make, _line("model", 200, "CPU"))], samples[:2])
    assert (unseen["peak_bytes"], unseen["safety"]) == (None, "unknown")


def test_a_server_in_host_memory_is_judged_by_what_was_asked_to_watch(make: Any) -> None:
    """An exporter of the machine, where nobody sees the process."""
    machine: dict[str, Any] = {"source": "exporter", "device": "host memory"}
    samples = [_sample("used_bytes", 900.0 * _MIB, **machine), _sample("total_bytes", 4096.0 * _MIB, **machine)]
    found = memory("mtp", [_start(make, _line("model", 200, "CPU"))], samples)
    assert (found["source"], found["margin_bytes"]) == ("exporter:used_bytes", 3196 * _MIB)
    assert (found["safety"], found["unexplained_bytes"]) == ("safe", 700 * _MIB)


def test_memory_on_a_device_that_nobody_told_of_is_never_safe(make: Any) -> None:
    """The process holds little of it: no margin, and the reason. So too where a device was asked and stayed silent."""
    on_gpu = _start(make, _line("model", 20000), _line("output", 10, "CUDA_Host"))
    process = _sample("rss_bytes", 300.0 * _MIB)
    found = memory("mtp", [on_gpu], [process], budget_bytes=24 * _GIB)
    assert (found["peak_bytes"], found["margin_bytes"], found["safety"]) == (300 * _MIB, None, "unknown")
    assert found["safety_reason"] == "its memory is on CUDA0, which nobody told of"
    silent = memory("mtp", [], [process, _gpu("used_bytes", None)], budget_bytes=24 * _GIB)
    assert (silent["safety"], silent["safety_reason"]) == ("unknown", "GPU-a did not tell its memory")


def test_servers_beside_each_other_are_told_so_where_memory_is_short(make: Any) -> None:
    """What a device has left is then not of one server alone."""
    run = make.run(
        {("off", 1): [10.0]}, samples=[_sample("rss_bytes", 7.5 * _GIB, variant="off")], coresident=True,
        memory_budget_bytes=8 * _GIB,
    )  # fmt: skip
    (entry,) = memories(run, ["off"], "off", {})
    assert (entry["safety"], entry["safety_reason"]) == (
        "unsafe",
        "the servers of all variants were up beside each other",
    )


def test_a_machine_that_shares_its_memory_is_its_own_budget() -> None:
    """Used and total of the system, by their own source; the device's null is no zero (case C66)."""
    pool: dict[str, Any] = {"source": "unified system memory", "device": "unified system memory"}
    samples = [
        _gpu("used_bytes", None),
        _sample("used_bytes", 9034380 * 1024.0, **pool),
        _sample("total_bytes", 127600748 * 1024.0, **pool),
    ]
    found = memory("mtp", [], samples)
    assert (found["peak_bytes"], found["budget_bytes"]) == (9034380 * 1024, 127600748 * 1024)
    assert (found["source"], found["safety"]) == ("unified system memory:used_bytes", "safe")


def test_where_the_gpu_shares_memory_its_limit_is_the_budget_of_the_process(make: Any) -> None:
    """26000 MiB of 32 GiB that may be wired, not all of them; untold, it is unknown (case C75)."""
    start = _start(make, _line("model", 19000, "MTL0"), _line("output", 10, "CPU"))
    pool: dict[str, Any] = {"source": "apple", "device": "unified system memory"}
    process = _sample("rss_bytes", 20000.0 * _MIB)
    found = memory("mtp", [start], [process, _sample("total_bytes", 26000.0 * _MIB, **pool)])
    assert (found["budget_bytes"], found["margin_bytes"]) == (26000 * _MIB, 6000 * _MIB)
    assert (found["safety"], found["unexplained_bytes"]) == ("safe", 990 * _MIB)
    untold = memory("mtp", [start], [process, _sample("total_bytes", None, **pool)])
    assert (untold["budget_bytes"], untold["safety"]) == (None, "unknown")


def test_the_ledger_is_that_of_the_variants_own_load_log(make: Any) -> None:
    """The first start of the variant that has one."""
    line = Component(component="recurrent_state", bytes=27_525_120, source="log", device="CPU")
    found = memory("mtp", [make.start("off", ledger=[]), make.start("mtp"), make.start("mtp", ledger=[line])], [])
    assert len(found["ledger"]) == 1
    expected = {"component": "recurrent_state", "bytes": 27_525_120, "source": "log", "device": "CPU"}
    assert found["ledger"][0].items() >= expected.items()


def _log(name: str, value: float, at: float = 150.0) -> Sample:
    return _sample(name, value, source="log", at=at, trial=None)


def test_host_memory_is_in_the_ledger_at_its_peak(make: Any) -> None:
    """Prompt cache with its limit, checkpoints with how many were taken over all servers and the largest of them."""
    samples = [
        _log("prompt_cache_bytes", 5.0 * _MIB),
        _log("prompt_cache_bytes", 9.0 * _MIB, at=160),
        _log("prompt_cache_bytes", 2.0 * _MIB, at=170),
        _log("checkpoints_bytes", 3.0 * _MIB),
        _log("checkpoints_taken", 40),
        _log("checkpoints_taken", 2),
        _log("checkpoint_bytes", 0.5 * _MIB),
    ]
    settings = {"cache_ram_mib": 8192, "ctx_checkpoints": 32}
    found = memory("mtp", [_start(make, _line("model", 20, "CPU"), settings=settings)], samples)
    cache, checkpoints = found["ledger"][1:]
    assert (cache["component"], cache["bytes"], cache["limit_bytes"]) == ("prompt_cache", 9 * _MIB, 8192 * _MIB)
    assert (checkpoints["component"], checkpoints["bytes"]) == ("checkpoints", 3 * _MIB)
    assert (checkpoints["taken"], checkpoints["each_bytes"], checkpoints["per_slot"]) == (42, _MIB // 2, 32)
    assert found["ledger_bytes"] == 20 * _MIB


def _filling(make: Any, *, leak_mib_s: float, told: bool) -> dict[str, Any]:
    """Two server starts of an hour whose prompt cache fills by 1 MiB a second."""
    starts = []
    samples = []
    for begin in (0.0, 4000.0):
        start = _start(make, _line("model", 20, "CPU"), settings={"cache_ram_mib": 4096})
        starts.append(msgspec.structs.replace(start, at_ns=round(begin * 1e9)))
        for second in range(2, 3600, 4):
            at = begin + second
            samples.append(_sample("rss_bytes", (100 + second * (1 + leak_mib_s)) * _MIB, at=at, trial=f"t{begin}"))
            samples += [_log("prompt_cache_bytes", second * float(_MIB), at=at)] if told else []
    return memory("mtp", starts, samples, levels={"t0.0": 4, "t4000.0": 4})


def test_a_filling_prompt_cache_is_no_leak_where_the_log_tells_of_it(make: Any) -> None:
    """Not told of, it can't be told from one; a leak beside it is seen."""
    steady = _filling(make, leak_mib_s=0, told=True)
    assert (steady["leak"], steady["growth_less"]) == (False, "prompt cache and checkpoints")
    assert steady["growth_bytes_per_hour"]["value"] == pytest.approx(0, abs=1)
    assert _filling(make, leak_mib_s=0, told=False)["leak"] is None
    leaking = _filling(make, leak_mib_s=0.5, told=True)
    assert leaking["leak"] is True
    assert leaking["growth_bytes_per_hour"]["value"] == pytest.approx(1800 * _MIB)


def test_the_difference_to_the_baseline_is_told_in_slots(make: Any) -> None:
    """9.84 + 2 MiB more, at (3.28 + 4) ÷ 4 MiB a slot of the baseline: 6.5 slots. The asked budget is the run's."""
    caches = [_line("kv", 4, "CPU"), _line("compute", 10, "CPU")]
    starts = [
        _start(make, *caches, _line("recurrent_state", 3.28, "CPU"), variant="off"),
        _start(make, *caches, _line("recurrent_state", 13.12, "CPU"), _line("mtp_kv", 2, "CPU")),
    ]
    samples = [_sample("rss_bytes", 7.0 * _GIB, variant=name) for name in ("off", "mtp")]
    run = make.run(
        {("off", 1): [10.0], ("mtp", 1): [10.0]}, starts=starts, samples=samples, memory_budget_bytes=9 * _GIB,
        memory_margin_bytes=3 * _GIB,
    )  # fmt: skip
    off, mtp = memories(run, ["off", "mtp"], "off", {})
    assert (off["slots_worth"], off["safety"], mtp["safety"]) == (None, "unsafe", "unsafe")
    assert off["slot_bytes"] == pytest.approx(1.82 * _MIB, abs=1)
    assert mtp["slots_worth"] == pytest.approx(11.84 / 1.82, rel=1e-6)
    assert (off["energy"], mtp["energy"]) == (None, None)


@pytest.mark.parametrize(
    ("name", "attempt", "gone"),
    [
        ("r1-n4-mtp", 1, set()),
        ("r1-n4-mtp.2", 2, {"r1-n4-mtp"}),
        ("r1-n4-mtp.3", 3, {"r1-n4-mtp", "r1-n4-mtp.2"}),
        ("r1-n4-v1.2.2", 2, {"r1-n4-v1.2"}),
    ],
)
def test_earlier_attempts_are_superseded(make: Any, name: str, attempt: int, gone: set[str]) -> None:
    """Also those that left no record; a variant's name may hold a dot and a number."""
    assert superseded([make.record(trial=name, attempt=attempt), make.record(trial="r2-n4-mtp")]) == gone


def test_a_superseded_attempt_is_no_peak(make: Any) -> None:
    """What a trial used that was done again in a resumed run counts nowhere."""
    samples = [
        _sample("rss_bytes", 900.0, variant="off", trial="r1-n1-off"),
        _sample("rss_bytes", 300.0, variant="off", at=201, trial="r1-n1-off.2"),
        _sample("rss_bytes", 200.0, variant="off", at=202, trial=None),
    ]
    run = make.run({("off", 1): [10.0]}, samples=samples)
    (whole,) = memories(run, ["off"], "off", {})
    assert whole["peak_bytes"] == 900
    again = msgspec.structs.replace(run.trials[0], trial="r1-n1-off.2", attempt=2)
    run.trials.append(again)
    (resumed,) = memories(run, ["off"], "off", {})
    assert resumed["peak_bytes"] == 300


def _predicted(component: str, mib: float) -> Component:
    source = "estimated" if component.endswith("compute") else "gguf"
    return Component(component=component, bytes=round(mib * _MIB), source=source, device=None)


def test_a_predicted_ledger_is_told_apart_from_a_log(make: Any) -> None:
    """It has its reason; a start whose log was read goes before one without."""
    start = _start(make, _predicted("model", 20), _predicted("compute", 4))
    start = msgspec.structs.replace(start, ledger_missing="nobody named its log")
    found = memory("mtp", [start], [])
    assert (found["ledger_source"], found["ledger_missing"]) == ("predicted", "nobody named its log")
    assert found["ledger_bytes"] == 24 * _MIB
    logged = memory("mtp", [start, _start(make, _line("model", 21, "CPU"))], [])
    assert (logged["ledger_source"], logged["ledger_missing"], logged["ledger_bytes"]) == ("log", None, 21 * _MIB)
    nothing = memory("mtp", [msgspec.structs.replace(start, ledger=[])], [])
    assert (nothing["ledger_source"], nothing["ledger_missing"]) == (None, "nobody named its log")


def test_a_prediction_says_nothing_of_devices(make: Any) -> None:
    """A watched device goes before the process; how much of it is explained is null, of a process it isn't."""
    start = _start(make, _predicted("model", 20))
    process = _sample("rss_bytes", 30.0 * _MIB)
    device = memory("mtp", [start], [process, _gpu("used_bytes", 500)])
    assert (device["source"], device["unexplained_bytes"]) == ("nvml:used_bytes", None)
    alone = memory("mtp", [start], [process])
    assert (alone["source"], alone["unexplained_bytes"]) == ("process:rss_bytes", 10 * _MIB)


def test_a_prediction_is_not_compared_with_a_log(make: Any) -> None:
    """Slots' worth needs two ledgers of one kind: a log tells what lies on devices, a prediction doesn't."""
    kv = [_line("kv", 4, "CPU")]
    starts = [
        _start(make, *kv, variant="off"),
        _start(make, _predicted("kv", 6)),
        _start(make, _line("kv", 6, "CPU"), variant="ngram"),
    ]
    run = make.run({("off", 1): [10.0], ("mtp", 1): [10.0], ("ngram", 1): [10.0]}, starts=starts)
    entries = memories(run, ["off", "mtp", "ngram"], "off", {})
    assert [entry["slots_worth"] for entry in entries] == [None, None, pytest.approx(2.0)]


def test_what_llama_cpp_itself_can_not_account_for_is_told_by_device(make: Any) -> None:
    """The most of all servers of the variant; empty where no log tells."""
    samples = [
        _sample("unaccounted_bytes", value * float(_MIB), source="log", device=device, trial=None)
        for device, value in (("CUDA0", 2183), ("CUDA0", 2100), ("CUDA1", 300))
    ]
    assert memory("mtp", [_start(make)], samples)["unaccounted"] == [
        {"device": "CUDA0", "bytes": 2183 * _MIB},
        {"device": "CUDA1", "bytes": 300 * _MIB},
    ]
    assert memory("mtp", [], [])["unaccounted"] == []
