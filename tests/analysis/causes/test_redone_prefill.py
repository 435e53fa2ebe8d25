"""Rules of redone prefill: how much, how long, and why."""

from typing import Any

import pytest

from loadgen.analysis.causes.redone_prefill import Server, redone_prefill, server_of
from loadgen.records.model import Component

SHARE = {"value": 0.5, "low": None, "high": None, "n": 1}


def turns(make: Any, cached: float, *, timed: bool = True, **fields: Any) -> Any:
    """A session of depths 1k, 3k, 6k and 10k at 1 ms a token; `cached`: share of the turn before that was reused."""
    requests, before = [], 0
    for turn, depth in enumerate((1000, 3000, 6000, 10_000)):
        kept = int(before * cached)
        timings = {"prompt_n": depth - kept, "prompt_ms": float(depth - kept)} if timed else None
        requests.append(
            make.request(
                start=turn, first=turn + 0.5, last=turn + 1, turn=turn, turns=4, prompt_tokens=depth,
                cached_tokens=kept, timings=timings, **fields,
            )
        )  # fmt: skip
        before = depth
    return make.trial(requests)


def found(make: Any, cached: float, server: Server, *, level: int = 1, **fields: Any) -> dict[str, Any]:
    """The entry of one such session."""
    entry = redone_prefill([turns(make, cached, **fields)], level=level, server=server, share=SHARE)
    assert entry is not None
    return entry


def test_c46_history_evaluated_again_costs_its_tokens_times_the_time_of_one(make: Any) -> None:
    """1k + 3k + 6k tokens at 1 ms: 10 s in the one task, all that was in the cache."""
    entry = found(make, 0.0, Server())
    assert (entry["tokens"], entry["of_cached"], entry["seconds"]) == (10_000, 1.0, 10.0)
    assert entry["seconds_per_task"]["value"] == pytest.approx(10.0)
    assert entry["share"] == SHARE


def test_without_timings_the_seconds_are_null(make: Any) -> None:
    """The tokens are known all the same; where nothing was redone, that took no time."""
    entry = found(make, 0.0, Server(), timed=False)
    assert (entry["tokens"], entry["seconds"], entry["seconds_per_task"]["value"]) == (10_000, None, None)
    assert found(make, 1.0, Server(), timed=False)["seconds"] == 0


def test_a_round_without_timings_is_in_no_sum_of_seconds(make: Any) -> None:
    """The total would be too small, so it is null; seconds a task rest on the round that has them."""
    trials = [turns(make, 0.0), make.trial(turns(make, 0.0, timed=False).requests, round=2)]
    entry = redone_prefill(trials, level=1, server=Server(), share=SHARE)
    assert entry is not None
    assert (entry["tokens"], entry["seconds"]) == (20_000, None)
    assert entry["seconds_per_task"]["value"] == pytest.approx(10.0)


def test_where_no_turn_follows_another_nothing_is_told(make: Any) -> None:
    """Not measured is null."""
    assert redone_prefill([make.trial([make.request(cached_tokens=0)])], level=1, server=Server(), share=SHARE) is None
    assert redone_prefill([], level=1, server=Server(), share=SHARE) is None


LLAMA: dict[str, Any] = {"is_llama": True, "slots": 4}


@pytest.mark.parametrize(
    ("server", "level", "cause", "advice"),
    [
        (Server(**LLAMA, settings={"cache_prompt": False}), 1, "cache_off", "--cache-prompt"),
        (
            Server(**LLAMA, settings={"ctx_checkpoints": 0}, components=frozenset({"recurrent_state"})),
            1,
            "no_checkpoints",
            "--ctx-checkpoints 32",
        ),
        (Server(**LLAMA), 8, "fewer_slots", "-np 8"),
        (
            Server(**LLAMA, settings={"cache_ram_mib": 0}),
            8,
            "fewer_slots",
            "-np 8, or --cache-ram 8192 (now 0)",
        ),
        (
            Server(**LLAMA, settings={"ctx_checkpoints": 32}, components=frozenset({"recurrent_state"})),
            4,
            "checkpoints",
            "--ctx-checkpoints 64 (now 32)",
        ),
        (Server(**LLAMA, components=frozenset({"kv_swa"})), 4, "sliding_window", "--swa-full"),
        (
            Server(**LLAMA, components=frozenset({"kv_swa"}), settings={"swa_full": True}),
            4,
            "other_prompt",
            "--cache-reuse 256",
        ),
        (Server(**LLAMA), 4, "other_prompt", "--cache-reuse 256"),
        (Server(slots=4), 8, None, None),
    ],
)
def test_the_likely_cause_is_told_by_what_is_known_of_the_server(
    make: Any, server: Server, level: int, cause: str | None, advice: str | None
) -> None:
    """What surely loses everything goes first; of a server that is no llama-server nothing is known."""
    entry = found(make, 0.0, server, level=level)
    assert (entry["cause"], entry["try"]) == (cause, advice)


def test_a_part_that_is_lost_with_slots_to_spare_has_no_known_cause(make: Any) -> None:
    """Half of it was reused, so the prompt is the same one."""
    entry = found(make, 0.5, Server(**LLAMA))
    assert (entry["cause"], entry["try"]) == (None, "--slot-prompt-similarity 0.5")


def test_up_to_a_tenth_needs_no_cause(make: Any) -> None:
    """5 % lost is what a last partial block costs."""
    entry = found(make, 0.95, Server(**LLAMA), level=8)
    assert (entry["cause"], entry["try"]) == (None, None)


def test_sub_agents_take_slots_of_their_own(make: Any) -> None:
    """One agent with children may have more sessions than slots."""
    trial = turns(make, 0.0)
    child = make.request(session="child", root="s", start=1.0, first=1.5, last=2.0, prompt_tokens=50, cached_tokens=0)
    trial = make.trial([*trial.requests, child])
    entry = redone_prefill([trial], level=1, server=Server(**LLAMA), share=SHARE)
    assert entry is not None
    assert (entry["cause"], entry["try"]) == ("sub_agents", "a larger -np")


def test_what_the_starts_of_a_server_tell_is_put_together(make: Any) -> None:
    """Slots, settings and the names of the ledger; another variant's start says nothing."""
    ledger = [Component(component="recurrent_state", bytes=1, source="log", device=None)]
    starts = [
        make.start("off", slots=2),
        make.start("mtp", slots=None),
        make.start("mtp", slots=8, settings={"batch": 2048}),
    ]
    mtp = server_of("mtp", [make.start("mtp", ledger=ledger, slots=None), *starts])
    assert (mtp.slots, mtp.number("batch"), mtp.recurrent, mtp.is_llama) == (8, 2048, True, True)
    assert server_of("url", starts) == Server()
    assert server_of("url", [make.start("url", kind="openai", slots=None)]).is_llama is False


def test_a_prompt_that_begins_anew_redoes_nothing(make: Any) -> None:
    """Where the agent summed its history up, nothing of it was there to be reused."""
    requests = [
        make.request(
            start=turn,
            last=turn + 1,
            turn=turn,
            turns=3,
            prompt_tokens=depth,
            cached_tokens=held,
            begins_anew=turn == 1,
        )
        for turn, (depth, held) in enumerate(((6000, 0), (1000, 0), (2000, 1000)))
    ]
    entry = redone_prefill([make.trial(requests)], level=1, server=Server(), share=SHARE)
    assert entry is not None
    assert (entry["tokens"], entry["of_cached"]) == (0, 0.0)
