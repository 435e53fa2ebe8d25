"""Why a speed-up is what it is, in sentences: only what stands out, and each thing once a variant."""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from loadgen.analysis.causes.redone_prefill import MAX_REDONE
from loadgen.analysis.diagnostic import Diagnostic
from loadgen.analysis.wording import agents, count, factor, interval

Entry = Mapping[str, Any]

_WORTH_A_WORD = 1.05
"""A gain below 5 % is too small to ask where it went: that is the default of the smallest effect worth acting on."""
_HALF = 0.5
"""What eats half of a gain is what to look at first."""
_STALLED = 0.05
"""Stalls that take less than 5 % of the time change no decision."""
_OFTEN = 0.05
"""Fewer than one turn in twenty that misses its cache is left to the table of turns."""
_SELDOM = 0.1
"""One more token in a step costs a few percent even where the device has room: accepted in fewer than one draft of ten,
it doesn't earn that."""

_CAUSES = {
    "cache_off": "the prompt cache is off",
    "no_checkpoints": "this model can't go back in its cache, and its server keeps no checkpoints",
    "fewer_slots": "sessions that share a slot push each other out of it",
    "sub_agents": "sub-agents take slots too, and sessions push each other out",
    "checkpoints": "a model with recurrent state goes back only to a checkpoint",
    "sliding_window": "a sliding window keeps only the end of a prompt",
    "other_prompt": "a later prompt does not begin as the one before, as with a template that drops reasoning",
}


def why_sentences(entries: Sequence[Entry], baseline: str, *, void: Collection[str] = ()) -> list[str]:
    """What stands out in the `why` of a summary; nothing of `void` variants, whose answers are wrong."""
    spoken = [entry for entry in entries if entry["variant"] not in void]
    found = [
        text
        for own in _by(spoken, lambda entry: entry["variant"]).values()
        for text in (
            _step_time(own, baseline),
            _overhead(own),
            _beyond_decoding(own, baseline),
            _collapse(own),
            _position(own),
            _apart(own, "turn_kind", _kind),
            _apart(own, "depth", _depth),
        )
        if text is not None
    ]
    return [*found, *_stalls(spoken), *_redone(spoken), *_flagged(spoken)]


def _step_time(entries: Sequence[Entry], baseline: str) -> str | None:
    """Where longer steps eat at least half of what tokens per step promise; the worst level."""
    eaten = [
        entry
        for entry in entries
        if _surely_above_1(entry["step_time"]["ratio"])
        and _share_eaten(_value(entry["promised"]), _value(entry["step_time"]["ratio"])) >= _HALF
    ]
    if not eaten:
        return None
    worst = max(eaten, key=lambda entry: float(entry["step_time"]["ratio"]["value"]))
    step = worst["step_time"]
    width, least = step["verify_width"], step["drafting_at_least"]
    verifies = "" if width is None else f" (it evaluates about {count(width)} tokens)"
    drafting = ""
    if least is not None and _surely_above_1(least):
        drafting = f", at least {factor(least['value'])} times of it by drafting"
    text = (
        f"{_where(worst)} promises {factor(worst['promised']['value'])} times {baseline} with "
        f"{worst['tokens_per_step']['value']:.2f} tokens a step, but a step takes {factor(step['ratio']['value'])} "
        f"times as long{verifies}{drafting}: that leaves {factor(worst['decode_speedup']['value'])} in decoding."
    )
    return text if worst["diagnostic"] else f"{text} Try fewer draft tokens, or fewer agents at once."


def _overhead(entries: Sequence[Entry]) -> str | None:
    """What loading speculation costs a step, where it was measured and is surely a cost; the worst level."""
    known = [
        entry
        for entry in entries
        if _surely_above_1(entry["step_time"]["overhead"]) and entry["step_time"]["overhead"]["value"] >= _WORTH_A_WORD
    ]
    if not known:
        return None
    worst = max(known, key=lambda entry: float(entry["step_time"]["overhead"]["value"]))
    step = worst["step_time"]
    return (
        f"Before anything is drafted a step of {_where(worst)} takes {factor(step['overhead']['value'])} times as long "
        f"({step['overhead_variant']}); drafting and verifying make it "
        f"{factor(step['drafting_and_verifying']['value'])} times that."
    )


def _beyond_decoding(entries: Sequence[Entry], baseline: str) -> str | None:
    """Where at least half of the gain in decoding doesn't reach tasks per hour; the level that loses most."""
    lost = [entry for entry in entries if _lost_beyond(entry)]
    if not lost:
        return None
    worst = min(lost, key=lambda entry: float(entry["beyond_decode"]["value"]))
    return (
        f"{_where(worst)} decodes {factor(worst['decode_speedup']['value'])} times as fast as {baseline}, but does "
        f"{factor(worst['realised']['tasks_per_hour']['value'])} times its tasks per hour: the rest goes to reading "
        "prompts, waits and queues."
    )


def _lost_beyond(entry: Entry) -> bool:
    decoding, beyond = entry["decode_speedup"], entry["beyond_decode"]
    if beyond["high"] is None or beyond["high"] >= 1 or not _surely_above_1(decoding):
        return False
    return _share_eaten(decoding["value"], 1 / beyond["value"]) >= _HALF


def _collapse(entries: Sequence[Entry]) -> str | None:
    """The alarm: acceptance falls as slots fill; the worst level."""
    alarmed = [entry for entry in entries if entry["acceptance_by_slots"] and entry["acceptance_by_slots"]["alarm"]]
    if not alarmed:
        return None
    worst = min(alarmed, key=lambda entry: float(entry["acceptance_by_slots"]["ratio"]["value"]))
    ratio, lowest = worst["acceptance_by_slots"]["ratio"], worst["acceptance_by_slots"]["lowest"]
    before = next(entry for entry in entries if entry["concurrency"] == lowest)
    return (
        f"Acceptance of {worst['variant']} collapses as slots fill: {_percent(before['acceptance']['rate']['value'])} "
        f"at {agents(lowest)}, {_percent(worst['acceptance']['rate']['value'])} at {agents(worst['concurrency'])} "
        f"({factor(ratio['value'])} times, 95 % interval {interval(ratio['low'], ratio['high'])}). All levels play the "
        "same workload, so it is a fault: with some drafters and builds, drafts of many slots disturb each other. Try "
        "--spec-draft-n-max 1, fewer slots, or another build."
    )


def _position(entries: Sequence[Entry]) -> str | None:
    """From where on drafted tokens are hardly ever accepted, at the level that drafted most. Not where it was set."""
    drafting = [one for one in entries if one["acceptance"] and one["diagnostic"] != Diagnostic.SYNTHETIC]
    if not drafting:
        return None
    most = max(drafting, key=lambda entry: int(entry["acceptance"]["drafted"]))
    positions = most["acceptance"]["by_position"]
    late = [one for one in positions if one["rate"]["high"] is not None and one["rate"]["high"] < _SELDOM]
    if not late or late[0]["position"] == 1:
        return None
    first, rate = late[0]["position"], late[0]["rate"]["value"]
    return (
        f"Of the drafts of {_where(most)}, {_percent(rate)} are accepted as far as token {first}: drafts of "
        f"{first - 1} would waste less."
    )


def _apart(entries: Sequence[Entry], part: str, named: Callable[[Mapping[str, Any]], str]) -> str | None:
    """Where acceptance differs between kinds of turns, or depths, by more than noise; the level that drafted most."""
    differing = [entry for entry in entries if entry["acceptance"] and entry["acceptance"]["differences"][part]]
    if not differing:
        return None
    most = max(differing, key=lambda entry: int(entry["acceptance"]["drafted"]))
    found = most["acceptance"]["differences"][part]
    return f"Acceptance of {_where(most)} is lowest {named(found['least'])} and highest {named(found['most'])}."


def _kind(group: Mapping[str, Any]) -> str:
    return f"in {group['turn_kind']} turns ({_percent(group['rate']['value'])})"


def _depth(group: Mapping[str, Any]) -> str:
    begin, end = group["from_tokens"], group["to_tokens"]
    where = f"from {begin:,} tokens of context on" if end is None else f"at {begin:,} to {end:,} tokens of context"
    return f"{where} ({_percent(group['rate']['value'])})"


def _stalls(entries: Sequence[Entry]) -> list[str]:
    """All cells whose text stood still for long, in one sentence for each piece of advice."""
    stalled = [entry for entry in entries if entry["stalls"] and (_value(entry["stalls"]["share"]) or 0) >= _STALLED]
    out = []
    for advice, several in _by(stalled, lambda entry: entry["stalls"]["try"]).items():
        worst = max(several, key=lambda entry: float(entry["stalls"]["share"]["value"]))
        share = _percent(worst["stalls"]["share"]["value"])
        out.append(
            f"Text stands still for more than 1 s at a time while the server reads another prompt "
            f"({_places(several)}): {share} of the time with {_where(worst)}{_a_task(worst['stalls'])}.{_try(advice)}"
        )
    return out


def _redone(entries: Sequence[Entry]) -> list[str]:
    """All cells that evaluate their history again, in one sentence for each cause and piece of advice."""
    again = [one for one in entries if _is_redone(one)]
    groups = _by(again, lambda entry: (entry["redone_prefill"]["cause"], entry["redone_prefill"]["try"]))
    out = []
    for (cause, advice), several in groups.items():
        worst = max(several, key=lambda entry: float(entry["redone_prefill"]["of_cached"]))
        found = worst["redone_prefill"]
        likely = f" Likely cause: {_CAUSES[cause]}." if cause else ""
        out.append(
            f"Prompt tokens that were in the cache are evaluated again ({_places(several)}): "
            f"{_percent(found['of_cached'])} of them with {_where(worst)}{_a_task(found)}.{_turns(worst)}{likely}"
            f"{_try(advice)}"
        )
    return out


def _is_redone(entry: Entry) -> bool:
    return bool(entry["redone_prefill"]) and entry["redone_prefill"]["of_cached"] > MAX_REDONE


def _turns(entry: Entry) -> str:
    """How many turns are flagged, behind what they lose together."""
    flagged = _flagged_turns(entry)
    return f" {flagged} of {entry['cache']['turns']} turns find less than 90 % of it." if flagged else ""


def _flagged(entries: Sequence[Entry]) -> list[str]:
    """All cells in which single turns miss what was left for them, while most find it."""
    some = [one for one in entries if not _is_redone(one) and _flagged_turns(one) >= _OFTEN * _of_turns(one) > 0]
    if not some:
        return []
    worst = max(some, key=lambda entry: float(entry["cache"]["flagged"]["share"]))
    seconds = worst["cache"]["flagged"]["seconds"]
    lost = "" if seconds is None else f", which takes {count(seconds)} s in all"
    text = (
        f"Single turns find less than 90 % of what the turn before left in the cache ({_places(some)}): "
        f"{_flagged_turns(worst)} of {_of_turns(worst)} with {_where(worst)}{lost}."
    )
    return [text]


def _flagged_turns(entry: Entry) -> int:
    return int(entry["cache"]["flagged"]["turns"]) if entry["cache"] else 0


def _of_turns(entry: Entry) -> int:
    return int(entry["cache"]["turns"]) if entry["cache"] else 0


def _surely_above_1(estimate: Mapping[str, Any]) -> bool:
    return estimate["low"] is not None and bool(estimate["low"] > 1)


def _share_eaten(gain: float | None, cost: float | None) -> float:
    """The share of a gain, on the logarithm, that a cost takes; 0 where there is no gain worth a word."""
    if gain is None or cost is None or gain < _WORTH_A_WORD or cost <= 0:
        return 0.0
    return math.log(cost) / math.log(gain)


def _value(estimate: Mapping[str, Any]) -> float | None:
    value = estimate["value"]
    return None if value is None else float(value)


def _by(entries: Sequence[Entry], key: Callable[[Entry], Any]) -> dict[Any, list[Entry]]:
    out: dict[Any, list[Entry]] = {}
    for entry in entries:
        out.setdefault(key(entry), []).append(entry)
    return out


def _where(entry: Entry) -> str:
    return f"{entry['variant']} at {agents(entry['concurrency'])}"


def _places(entries: Sequence[Entry]) -> str:
    """Such as `off at 8 agents, mtp at 4, 8 agents`."""
    places = []
    for variant, several in _by(entries, lambda entry: entry["variant"]).items():
        *levels, last = [entry["concurrency"] for entry in several]
        places.append(f"{variant} at {''.join(f'{level}, ' for level in levels)}{agents(last)}")
    return ", ".join(places)


def _a_task(found: Mapping[str, Any]) -> str:
    seconds = _value(found["seconds_per_task"])
    return "" if seconds is None else f", {count(seconds)} s a task"


def _try(advice: str | None) -> str:
    return f" Try {advice}." if advice else ""


def _percent(share: float) -> str:
    return f"{share * 100:.0f} %"
