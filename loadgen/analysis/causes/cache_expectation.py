"""Cached tokens of turns against what the turn before each left in the cache, and what missing ones cost."""

from collections.abc import Iterable, Sequence
from typing import Any

from loadgen.analysis.causes.redone_prefill import evaluation_s
from loadgen.analysis.measured.cached import CacheUse
from loadgen.analysis.measured.trial import Trial


def cache_expectation(trials: Sequence[Trial]) -> dict[str, Any] | None:
    """What turns of a cell should have found in the cache, and what they found.

    `turns`, `expected_tokens` and `cached_tokens` (no more than expected) sum the ok turns that follow another;
    `by_turn` has their means by turn (from 0; the first turn of a session has no entry). `flagged` counts the turns
    that found less than 90 % of what was expected, with their share, the tokens that they missed and the seconds that
    evaluating these took: tokens times the server's seconds a prompt token in that trial, null where a trial doesn't
    tell them. `answers_equal` of `answers_compared` answers say what the recorded ones say, `answers_kept` of
    `answers_known` are exactly what later prompts have; both of a pair are null where it isn't known. Null as a whole
    where nothing is known.
    """
    by_turn = {
        turn: _sum(trial.cache_use[turn] for trial in trials if turn in trial.cache_use)
        for turn in sorted({turn for trial in trials for turn in trial.cache_use})
    }
    total = _sum(by_turn.values())
    equal, compared = (sum(trial.equal_answers[part] for trial in trials) for part in (0, 1))
    kept, known = (sum(trial.kept_answers[part] for trial in trials) for part in (0, 1))
    if not total.turns and not compared and not known:
        return None
    return {
        "turns": total.turns,
        "expected_tokens": total.expected,
        "cached_tokens": total.expected - total.missing,
        "flagged": {
            "turns": total.flagged,
            "share": total.flagged / total.turns if total.turns else None,
            "tokens": total.flagged_missing,
            "seconds": evaluation_s(trials, _flagged_missing),
        },
        "by_turn": [_entry(turn, use) for turn, use in by_turn.items()],
        "answers_equal": equal if compared else None,
        "answers_compared": compared or None,
        "answers_kept": kept if known else None,
        "answers_known": known or None,
    }


def _entry(turn: int, use: CacheUse) -> dict[str, Any]:
    return {
        "turn": turn,
        "turns": use.turns,
        "expected_tokens": use.expected / use.turns,
        "cached_tokens": (use.expected - use.missing) / use.turns,
        "flagged": use.flagged,
    }


def _sum(uses: Iterable[CacheUse]) -> CacheUse:
    total = CacheUse()
    for one in uses:
        total.turns += one.turns
        total.expected += one.expected
        total.missing += one.missing
        total.flagged += one.flagged
        total.flagged_missing += one.flagged_missing
    return total


def _flagged_missing(trial: Trial) -> int:
    return _sum(trial.cache_use.values()).flagged_missing
