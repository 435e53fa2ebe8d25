"""Break-even: how many tokens a step speculation must give to pay, and how many this workload gives."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from loadgen.analysis.diagnostic import Diagnostic
from loadgen.analysis.estimators.comparison import Call, Comparison, log_ratios
from loadgen.analysis.estimators.intervals import Estimate, ratio_over_rounds
from loadgen.analysis.measured.trial import Trial
from loadgen.analysis.speed.needed_tokens import Needed, from_lengths, from_steps
from loadgen.analysis.speed.set_acceptance import Settings
from loadgen.analysis.speed.step_model import Cells, by_round, steps_known, work_by_round

MEASURED, MODELLED = "measured", "modelled"
ABOVE, BELOW, UNRESOLVED = "above", "below", "unresolved"


@dataclass(frozen=True)
class _Family:
    """Variants that differ in acceptance alone: the one with the model's own, if it ran, and those where it was set."""

    name: str
    own: str | None
    set: tuple[str, ...]
    most: int | None


def break_even(
    valid: Cells,
    names: Sequence[str],
    baseline: str,
    *,
    off: Collection[str] = (),
    diagnostics: Mapping[str, Diagnostic] | None = None,
    comparisons: Sequence[Comparison] = (),
    settings: Mapping[str, Settings] | None = None,
) -> list[dict[str, Any]]:
    """Tokens a step that each speculating variant needs at each level to do as many tasks per hour as the baseline.

    An entry holds `needed_tokens_per_step` and `measured_tokens_per_step`, what this workload gives (null where
    acceptance was set), and `source`: *measured* from at least two variants that differ in set acceptance alone
    (`set_variants`), which are then one entry, else *modelled* from the time of a step. Where the length lies beyond
    what can be told its value is null, and `beyond` says `more_than` or `less_than` `beyond_tokens` (null: no length
    would do). `most_tokens` is what a step of the variant can give at most. `verdict`: a call of the variant's own
    speed-up as *pays* or *costs* is *above* or *below*; else a measured length whose interval and the workload's lie
    apart tells; else it is *unresolved*. Set acceptance that contradicts the variant's own call is not used.

    Args:
        valid: the valid trials by variant and level.
        names: the variants in the order of the experiment.
        baseline: the name of the baseline.
        off: the variants that don't draft.
        diagnostics: the diagnostic variants.
        comparisons: tasks/hour of the variants against the baseline.
        settings: what the variants run, from `set_acceptance.settings`.
    """
    calls = {(c.variant, c.level): c.call for c in comparisons}
    families = _families([name for name in names if name != baseline and name not in off], diagnostics or {}, settings)
    levels = sorted({level for _, level in valid})
    entries = [
        _entry(family, level, valid, baseline, calls.get((family.own or "", level)))
        for family in families
        for level in levels
    ]
    return [entry for entry in entries if entry is not None]


def _families(
    names: Sequence[str], diagnostics: Mapping[str, Diagnostic], settings: Mapping[str, Settings] | None
) -> list[_Family]:
    """In the order of `names`; a family without a variant of its own stands where its first one does."""
    known = settings or {}
    groups: dict[str, list[str]] = {}
    for name in names:
        if diagnostics.get(name) is Diagnostic.SYNTHETIC:
            groups.setdefault(known[name].key if name in known else name, []).append(name)
    own_keys = {known[name].key for name in names if name in known and name not in diagnostics}
    found = []
    for name in names:
        kind = diagnostics.get(name)
        key, most = (known[name].key, known[name].most_tokens) if name in known else (name, None)
        if kind is None:
            found.append(_Family(name, name, tuple(groups.get(key, ())), most))
        elif kind is Diagnostic.SYNTHETIC and groups[key][0] == name and key not in own_keys:
            found.append(_Family(_stem(groups[key]), None, tuple(groups[key]), most))
    return found


def _stem(names: Sequence[str]) -> str:
    """What the names of variants with set acceptance share before `-L` and the length, as loadgen names them."""
    stems = {name.rpartition("-L")[0] for name in names}
    stem = stems.pop()
    return stem if stem and not stems and len(names) > 1 else names[0]


def _entry(family: _Family, level: int, valid: Cells, baseline: str, call: Call | None) -> dict[str, Any] | None:
    base = valid.get((baseline, level), ())
    own = valid.get((family.own, level), ()) if family.own is not None else ()
    used = tuple(name for name in family.set if valid.get((name, level)))
    if not base or not (own or used):
        return None
    gives = _gives(own)
    needed, source = _from_set([valid[name, level] for name in used], base), MEASURED
    contradicted = needed.known and _contradicts(needed, gives, call)
    if not needed.known or contradicted:
        modelled = _from_steps(own or valid[used[0], level], base, family.most)
        if modelled.known or contradicted:
            needed, source = modelled, MODELLED
    note = "runs with set acceptance contradict what the variant did itself" if contradicted else None
    return {
        "variant": family.name,
        "baseline": baseline,
        "concurrency": level,
        "needed_tokens_per_step": needed.as_json(),
        "beyond": None if needed.beyond is None else needed.beyond.value,
        "beyond_tokens": needed.bound,
        "measured_tokens_per_step": None if gives is None else gives.as_json(),
        "most_tokens": family.most,
        "source": source if needed.known else None,
        "set_variants": list(used),
        "verdict": _verdict(needed, gives, call, source) if needed.known else None,
        "reason": needed.reason or note,
    }


def _gives(own: Sequence[Trial]) -> Estimate | None:
    """Tokens a step of the variant with the model's own acceptance; null where it didn't run or doesn't tell."""
    works = work_by_round(own) if steps_known(own, off=False) else {}
    if not works:
        return None
    return ratio_over_rounds(
        [float(work.tokens) for work in works.values()], [float(work.steps) for work in works.values()]
    )


def _from_set(several: Sequence[Sequence[Trial]], base: Sequence[Trial]) -> Needed:
    bottom = {trial.record.round: trial.tasks_per_hour for trial in base}
    points = []
    for trials in several:
        works = work_by_round(trials).values() if steps_known(trials, off=False) else ()
        steps = sum(work.steps for work in works)
        if steps:
            top = {trial.record.round: trial.tasks_per_hour for trial in trials}
            points.append((sum(work.tokens for work in works) / steps, log_ratios(top, bottom)))
    return from_lengths(points)


def _from_steps(trials: Sequence[Trial], base: Sequence[Trial], most: int | None) -> Needed:
    if not steps_known(trials, off=False):
        return Needed(reason="its server reports no drafts")
    return from_steps(work_by_round(trials), _pace(trials), _pace(base), most)


def _pace(trials: Sequence[Trial]) -> dict[int, tuple[float, float]]:
    """Agents' time (s) and credits by round."""
    return {
        number: (sum(trial.segment_s for trial in several), sum(trial.credits for trial in several))
        for number, several in by_round(trials).items()
    }


def _contradicts(needed: Needed, gives: Estimate | None, call: Call | None) -> bool:
    """Whether the workload's length lies on the side of the needed one that its own call denies."""
    if gives is None or gives.value is None:
        return False
    against = needed.value if needed.value is not None else needed.bound
    if against is None:
        return False
    return (call is Call.PAYS and gives.value < against) or (call is Call.COSTS and gives.value > against)


def _verdict(needed: Needed, gives: Estimate | None, call: Call | None, source: str) -> str | None:
    if gives is None:
        return None
    if call in (Call.PAYS, Call.COSTS):
        return ABOVE if call is Call.PAYS else BELOW
    # What is modelled rests on the same rounds as the variant's own call, so it can't tell more.
    if source == MEASURED:
        if gives.high is not None and needed.low is not None and gives.high < needed.low:
            return BELOW
        if gives.low is not None and needed.high is not None and gives.low > needed.high:
            return ABOVE
    return UNRESOLVED
