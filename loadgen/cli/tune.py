"""`loadgen ab --tune`: which settings of a command are best at one number of agents."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from loadgen.cli.options import COMPARISON
from loadgen.cli.shared import Shared
from loadgen.cli.start import build, start
from loadgen.errors import ExperimentError, GgufError

if TYPE_CHECKING:
    from loadgen.experiment.model import Experiment
    from loadgen.experiment.tuning import Candidate, Tuning
    from loadgen.experiment.tuning_grid import Tried, Varied
    from loadgen.footprint.served_models import Models

NAME = "tune"
_MOST_VALUES = 16
_LARGEST = 4096
"""More values of one setting, or more slots or tokens, are a typing error."""


def _list(name: str, **how: Any) -> Any:
    return typer.Option(name, metavar="LIST", rich_help_panel=COMPARISON, **how)


Tune = Annotated[
    bool,
    typer.Option(
        "--tune",
        rich_help_panel=COMPARISON,
        help="Find the best settings for --agents N: race draft lengths (slots, types and p_min when asked), drop what "
        "is clearly behind, confirm the winner in fresh rounds, print its command.",
    ),
]
TuneNMax = Annotated[
    str | None,
    _list("--tune-n-max", help="Draft lengths to try.", show_default="1,2,3,5,8 and the command's"),
]
TuneSlots = Annotated[
    str | None,
    _list("--tune-slots", help="Slots to try, each with its context.", show_default="the command's"),
]
TuneType = Annotated[
    str | None,
    _list("--tune-type", help="Values of --spec-type to try; + joins those of one.", show_default="the command's"),
]
TunePMin = Annotated[
    str | None,
    _list("--tune-p-min", help="Values of --spec-draft-p-min to try.", show_default="the command's"),
]


@dataclass(frozen=True)
class TuneOptions:
    """The lists behind `--tune-…` as they were given; null where one was not."""

    n_max: str | None = None
    slots: str | None = None
    types: str | None = None
    p_min: str | None = None

    @property
    def given(self) -> list[str]:
        """The options among them that were given."""
        names = {"--tune-n-max": self.n_max, "--tune-slots": self.slots}
        names |= {"--tune-type": self.types, "--tune-p-min": self.p_min}
        return [name for name, text in names.items() if text is not None]

    def varied(self) -> "Varied":
        """The values. Raises `ExperimentError` naming the option."""
        from loadgen.experiment.tuning_grid import Varied

        return Varied(
            n_max=_whole("--tune-n-max", self.n_max),
            slots=_whole("--tune-slots", self.slots),
            types=_words("--tune-type", self.types),
            p_min=_chances("--tune-p-min", self.p_min),
        )


def tune_command(
    command: Sequence[str],
    given: TuneOptions,
    shared: Shared,
    *,
    server_cpus: str | None,
    defaults: Mapping[str, Any],
) -> None:
    """Race the settings of a command and confirm the winner, or with `--dry-run` say how.

    Raises:
        ExperimentError: There is no number of agents to tune for, nothing to choose from, or no room for any of it.
    """
    if shared.agents is None:
        raise ExperimentError("--tune finds the best settings for so many agents: add --agents N, such as --agents 3")
    if "concurrency" in shared.typed:
        raise ExperimentError("--tune measures at --agents alone: leave --concurrency out")
    asked = build(_fields(command, given, shared, server_cpus), _narrowed(shared), defaults)
    if asked.tune is not None:
        for line in _before(asked, asked.tune):
            typer.echo(line, err=not shared.dry_run or shared.as_json)
    start(asked, _narrowed(shared), NAME, command="ab")


def _narrowed(shared: Shared) -> Shared:
    """One level and none beside it, and no looks but those of the race."""
    return replace(shared, concurrency=None, add_levels=False, stop_when_known=False)


def _fields(command: Sequence[str], given: TuneOptions, shared: Shared, server_cpus: str | None) -> dict[str, Any]:
    from loadgen.experiment.candidates import on_cpus
    from loadgen.experiment.tuning_grid import tried

    found = tried(command, given.varied())
    kept, facts = _within_memory(found, shared)
    variants = tuple(one.variant for one in kept)
    if server_cpus is not None:
        variants = on_cpus(variants, server_cpus)
    several = len({one.candidate.slots for one in kept}) > 1
    return {
        "variants": variants,
        "baseline": variants[0].name,
        "levels": (shared.agents,),
        "under_test": ("slots", "context_per_slot") if several else (),
        "tune": facts,
    }


def _within_memory(found: "Sequence[Tried]", shared: Shared) -> "tuple[list[Tried], Tuning]":
    """The candidates that memory leaves room for, the baseline always, and the facts about all of them.

    Raises `ExperimentError` where the baseline alone is left.
    """
    from loadgen.analysis.memory.grid import TIGHT, TOO_LARGE, Room
    from loadgen.experiment.tuning import Tuning
    from loadgen.units import bytes_to_mib

    asked = shared.given()
    room = Room(asked.get("memory_budget_bytes"), asked.get("memory_margin_bytes"))
    sizes, unread = _predicted(found)
    sized = [
        replace(one, candidate=one.candidate.model_copy(update={"predicted_bytes": size}))
        for one, size in zip(found, sizes, strict=True)
    ]
    gone = [one for one in sized[1:] if room.safety(one.candidate.predicted_bytes) in (TIGHT, TOO_LARGE)]
    kept = [one for one in sized if one not in gone]
    if len(kept) == 1:
        least = min(one.candidate.predicted_bytes or 0 for one in gone)
        raise ExperimentError(
            f"every candidate is predicted to leave less of --memory-budget than is to stay free: the smallest takes "
            f"{bytes_to_mib(least):,.0f} MiB. Raise the budget, or ask for fewer slots or shorter drafts."
        )
    why = unread
    if why is None and room.budget_bytes is None:
        why = "no --memory-budget was given"
    return kept, Tuning(
        candidates=tuple(one.candidate for one in kept),
        pruned=tuple(one.candidate for one in gone),
        budget_bytes=room.budget_bytes,
        margin_bytes=room.margin_bytes,
        not_pruned=why,
    )


def _predicted(found: "Sequence[Tried]") -> tuple[list[int | None], str | None]:
    """The memory that each candidate holds from the start, and why it can't be told; then it is null for all."""
    from loadgen.experiment.serving import serving_of
    from loadgen.footprint.prediction import predict

    known: dict[tuple[str, str | None], Models] = {}
    sizes: list[int | None] = []
    try:
        for one in found:
            serving = serving_of(one.command)
            files = (serving.model, serving.draft_model)
            if files not in known:
                known[files] = _models(files)
            sizes.append(predict(known[files], serving).held_bytes)
    except (ExperimentError, GgufError) as error:
        return [None] * len(found), str(error).rstrip(".")
    return sizes, None


def _models(files: tuple[str, str | None]) -> "Models":
    from loadgen.footprint.served_models import Models
    from loadgen.gguf.architecture import read_architecture
    from loadgen.gguf.model_file import read_model

    read = [read_architecture(read_model(Path(path))) for path in files if path is not None]
    return Models(read[0], read[1] if len(read) > 1 else None)


def _before(asked: "Experiment", facts: "Tuning") -> list[str]:
    """What is about to be raced, and how many trials that takes."""
    from loadgen.analysis.wording import agents
    from loadgen.experiment.race_schedule import ROUNDS, confirm_rounds, most_trials, race_looks

    rounds, baseline = asked.rounds or ROUNDS[0], asked.baseline
    looks, fresh, count = race_looks(rounds), confirm_rounds(rounds), len(facts.candidates)
    trials = most_trials(rounds, count)
    most, fewer = "", ""
    if asked.rounds is None:
        most, fewer = "at most ", f", fewer where the time budget doesn't hold them ({ROUNDS[-1]} at least)"
    return [
        f"tuning at {agents(asked.levels[0])}: {count} candidates, {baseline} among them as the baseline",
        f"race: {most}{_rounds(looks[-1])}; after round {_listed(looks)} those clearly behind the leader are dropped",
        f"then {_rounds(fresh, 'fresh ')} of the winner against {baseline}, on which alone its gain rests",
        f"rounds: {rounds} in all{fewer}",
        f"trials: {trials} at most, fewer where looks drop what trails; the time budget holds so many of their length",
        *_kept_out(facts),
    ]


def _kept_out(facts: "Tuning") -> list[str]:
    if facts.not_pruned is not None:
        return [f"memory: nothing is kept out for what it is predicted to take: {facts.not_pruned}"]
    if not facts.pruned:
        return ["memory: by prediction, every candidate leaves what is to stay free of --memory-budget"]
    gone = ", ".join(map(_sized, facts.pruned))
    return [f"memory: not raced, predicted to leave too little of --memory-budget: {gone}"]


def _sized(one: "Candidate") -> str:
    from loadgen.units import bytes_to_mib

    return f"{one.variant} ({bytes_to_mib(one.predicted_bytes or 0):,.0f} MiB)"


def _rounds(count: int, which: str = "") -> str:
    return f"{count} {which}round{'' if count == 1 else 's'}"


def _listed(numbers: Sequence[int]) -> str:
    *rest, last = map(str, numbers)
    return f"{', '.join(rest)} and {last}" if rest else last


def _parts(option: str, text: str | None) -> list[str] | None:
    """The values of a list. Raises `ExperimentError` where one is empty or there are too many."""
    if text is None:
        return None
    parts = [part.strip() for part in text.split(",")]
    if not all(parts) or len(parts) > _MOST_VALUES:
        raise ExperimentError(f"{option} {text}: write up to {_MOST_VALUES} values with commas between them")
    return parts


def _whole(option: str, text: str | None) -> tuple[int, ...] | None:
    parts = _parts(option, text)
    if parts is None:
        return None
    if not all(part.isascii() and part.isdecimal() and 0 < int(part) <= _LARGEST for part in parts):
        raise ExperimentError(f"{option} {text}: write whole numbers from 1 on, such as 1,2,4")
    return tuple(map(int, parts))


def _chances(option: str, text: str | None) -> tuple[float, ...] | None:
    parts = _parts(option, text)
    if parts is None:
        return None
    try:
        values = tuple(map(float, parts))
    except ValueError:
        values = (-1.0,)
    if not all(0 <= value <= 1 for value in values):
        raise ExperimentError(f"{option} {text}: write probabilities from 0 to 1, such as 0,0.5,0.75")
    return values


def _words(option: str, text: str | None) -> tuple[str, ...] | None:
    """Types of speculation; several that work together are joined by a plus sign, as commas part the list."""
    parts = _parts(option, text)
    return None if parts is None else tuple(part.replace("+", ",") for part in parts)
