"""Which variant to keep for a number of agents, and on what grounds."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from loadgen.analysis.decision.goodput import Meets
from loadgen.analysis.decision.grounds import Grounds
from loadgen.analysis.estimators.comparison import Call


class Standing(StrEnum):
    """How one variant stands for the place of the baseline. The first that applies, in this order."""

    FAILED = "failed"
    """Its output check failed: nothing is said of its speed."""
    NO_PAIR = "no_pair"
    """No round has a valid trial of it and of the baseline."""
    NOT_COMPARABLE = "not_comparable"
    """Its work was another than the baseline's: nothing is called."""
    COSTS = "costs"
    SAME = "same"
    UNSAFE = "unsafe"
    """It may pay, but leaves less memory than was asked for."""
    MISSES = "misses"
    """It may pay, but misses the service level objective."""
    UNRESOLVED = "unresolved"
    BEATEN = "beaten"
    """It pays, but does less than the baseline with the slots that its memory buys; measured."""
    IF_MEMORY = "if_memory"
    """It pays; whether its memory suffices is unknown, which is never safe."""
    IF_OBJECTIVE = "if_objective"
    """It pays; it falls short of the objective, by less than the attempts can tell."""
    KEEP = "keep"


class Answer(StrEnum):
    """What is advised, in the order in which it is looked for."""

    FAILED = "failed"
    """The baseline answers wrongly, so that nothing stands against it."""
    NOT_MEASURED = "not_measured"
    """This number of agents."""
    ALONE = "alone"
    """There is no variant to choose but the baseline."""
    KEEP = "keep"
    CONDITION = "condition"
    """A variant pays, if what isn't known holds."""
    UNRESOLVED = "unresolved"
    NO_PAIR = "no_pair"
    NOT_COMPARABLE = "not_comparable"
    BEATEN = "beaten"
    BASELINE = "baseline"
    NOTHING = "nothing"
    """The baseline would be kept, but is unsafe in memory or misses the objective."""


@dataclass(frozen=True)
class Choice:
    """The answer: what to keep (null: nothing can be advised), and the variant that it is about."""

    answer: Answer
    keep: str | None
    focus: str | None
    """The variant kept, or the one that came closest; null where none has anything to say of its speed."""
    standings: Mapping[str, Standing]

    @property
    def stands(self) -> Standing | None:
        """How the variant in focus stands."""
        return None if self.focus is None else self.standings[self.focus]

    def of(self, *standings: Standing) -> list[str]:
        """The variants that stand so, in the order of the experiment."""
        return [name for name, standing in self.standings.items() if standing in standings]


def choose(grounds: Grounds) -> Choice:
    """The choice for `grounds.agents`.

    A variant is kept only where tasks/hour *pays*, its memory is *safe*, its output check didn't fail and it doesn't
    miss the objective; of several the one with the largest lower bound. Where every variant costs or does the same, is
    unsafe, misses the objective or answers wrongly, the baseline is kept, unless that is unsafe or misses the objective
    itself. Nothing is kept where a question is open.
    """
    standings = {name: standing(grounds, name) for name in grounds.candidates}
    answer, among = _answer(grounds, standings)
    focus = _focus(grounds, among or [name for name, stands in standings.items() if stands is not Standing.FAILED])
    keep = {Answer.KEEP: focus, Answer.BASELINE: grounds.baseline}.get(answer)
    return Choice(answer, keep, focus, standings)


def standing(grounds: Grounds, variant: str) -> Standing:
    """How a variant stands at `grounds.agents`."""
    compared, objective = grounds.comparison(variant), grounds.goodput_of(variant)
    if variant in grounds.failed:
        return Standing.FAILED
    if compared is None:
        return Standing.NO_PAIR
    if compared.call is None:
        return Standing.NOT_COMPARABLE
    if compared.call in (Call.COSTS, Call.SAME):
        return Standing(compared.call.value)
    holds = {
        Standing.UNSAFE: grounds.safety(variant) == "unsafe",
        Standing.MISSES: objective is not None and objective["meets"] == Meets.NO,
        Standing.UNRESOLVED: compared.call is Call.UNRESOLVED,
        Standing.BEATEN: _beaten(grounds, variant),
        Standing.IF_MEMORY: grounds.safety(variant) == "unknown",
        Standing.IF_OBJECTIVE: objective is not None and objective["binds"] is not None,
    }
    return next((stands for stands, applies in holds.items() if applies), Standing.KEEP)


def _beaten(grounds: Grounds, variant: str) -> bool:
    """Whether no speculation does more in the same memory, for as many agents: more slots may serve others too."""
    entry = grounds.equal_memory_of(variant)
    if entry is None or entry["by"] != "measured" or entry.get("other_concurrency", grounds.agents) != grounds.agents:
        return False
    high = entry["speedup"]["high"]
    return high is not None and high < 1


def _answer(grounds: Grounds, standings: Mapping[str, Standing]) -> tuple[Answer, list[str]]:
    """The answer, and the variants among which it is about one."""
    early = _early(grounds)
    if early is not None:
        return early, []
    for answer, wanted in (
        (Answer.KEEP, (Standing.KEEP,)),
        (Answer.CONDITION, (Standing.IF_MEMORY, Standing.IF_OBJECTIVE)),
        (Answer.UNRESOLVED, (Standing.UNRESOLVED,)),
        (Answer.NO_PAIR, (Standing.NO_PAIR,)),
        (Answer.NOT_COMPARABLE, (Standing.NOT_COMPARABLE,)),
        (Answer.BEATEN, (Standing.BEATEN,)),
    ):
        among = [name for name, stands in standings.items() if stands in wanted]
        if among:
            return answer, among
    objective = grounds.goodput_of(grounds.baseline)
    misses = objective is not None and objective["meets"] == Meets.NO
    return (Answer.NOTHING if misses or grounds.safety(grounds.baseline) == "unsafe" else Answer.BASELINE), []


def _early(grounds: Grounds) -> Answer | None:
    if grounds.baseline in grounds.failed:
        return Answer.FAILED
    if grounds.agents not in grounds.levels:
        return Answer.NOT_MEASURED
    return None if grounds.candidates else Answer.ALONE


def _focus(grounds: Grounds, names: list[str]) -> str | None:
    """Of those that pay the one with the largest lower bound, else that with the largest speed-up, else the first."""

    def rank(name: str) -> tuple[bool, float, float]:
        compared = grounds.comparison(name)
        if compared is None or compared.speedup.value is None:
            return False, 0.0, 0.0
        low = compared.speedup.low if compared.call is Call.PAYS else None
        return True, low or 0.0, compared.speedup.value

    return max(names, key=rank, default=None)
