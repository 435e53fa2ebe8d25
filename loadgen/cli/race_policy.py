"""What a tuning run still measures after each look at its race: the seam to the replay."""

from collections.abc import Sequence
from pathlib import Path

from loadgen.analysis.sequential.race import Behind
from loadgen.analysis.sequential.tuning import Standing, rates_of, standing
from loadgen.analysis.summary import summarise
from loadgen.analysis.wording import factor
from loadgen.cell_key import CellKey
from loadgen.experiment.model import Experiment
from loadgen.experiment.race_schedule import race_looks
from loadgen.experiment.stop_policy import Decision
from loadgen.records.run_folder import read_run


class RacePolicy:
    """Drops what is clearly behind at each look, and measures the winner alone once the race is over.

    It judges by the trials that count of the rounds up to the look, so that a run that is taken up again comes to the
    same answer.

    Args:
        experiment: a tuning run.
        folder: its run folder.
    """

    def __init__(self, experiment: Experiment, folder: Path) -> None:
        self._experiment = experiment
        self._folder = folder

    def looks(self, rounds: int) -> Sequence[int]:
        """The looks of the race."""
        return tuple(look for look in race_looks(rounds) if look < rounds)

    def after(self, round_: int) -> Decision:
        """Who goes on: those not dropped, or, once the race is over, who is confirmed. Raises `RunFolderError`."""
        run, agents = read_run(self._folder), max(self._experiment.levels)
        measured = rates_of(summarise(run)["cells"], agents)
        rates = {name: {at: x for at, x in rounds.items() if at <= round_} for name, rounds in measured.items()}
        drawn = round_ if run.plan is None else run.plan.drawn_rounds or run.plan.rounds
        stands = standing(run.manifest.experiment, rates, drawn, reached=round_)
        baseline = self._experiment.baseline
        if stands.race.ended_after is None:
            left = [name for name in stands.race.standing if name != baseline]
        else:
            left = [] if stands.finalist is None else [stands.finalist]
        depth = next(iter(self._experiment.depths), None)
        return Decision(frozenset(CellKey(name, agents, depth) for name in left), _note(stands, round_, baseline, left))


def _note(stands: Standing, round_: int, baseline: str, left: Sequence[str]) -> str:
    gone = [one for one in stands.race.dropped if one.after_round == round_ and one.variant != baseline]
    dropped = f"dropped: {', '.join(map(_behind, gone))}; " if gone else ""
    if stands.race.ended_after is None:
        leader = f"{stands.race.leader} leads, " if stands.race.leader is not None else ""
        return f"race after round {round_}: {dropped}{leader}{len(left)} go on beside {baseline}"
    if stands.race.ended_after < round_:
        return f"the race is over: {', '.join(left) or 'nothing'} goes on beside {baseline}"
    if stands.finalist is None:
        return f"race after round {round_}: {dropped}nothing is left to compare with {baseline}"
    return (
        f"race over after round {stands.race.ended_after}: {dropped}{stands.finalist} meets {baseline} in fresh rounds"
    )


def _behind(one: Behind) -> str:
    ratio = "" if one.to_leader.value is None else f" ({factor(one.to_leader.value)} times {one.leader})"
    return f"{one.variant}{ratio}"
