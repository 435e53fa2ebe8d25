"""The parts of a profile: lengths with the kind of their text, the shared prefix, what is broken off or summed up."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainValidator

from loadgen.workload.corpus import CORPORA
from loadgen.workload.distribution import Distribution, RandomSource, Uniform, number, parse, picked
from loadgen.workload.tools.tool import ToolKind

__all__ = [
    "Broken",
    "Compaction",
    "Corpora",
    "Frozen",
    "Material",
    "Output",
    "Share",
    "SharedPrefix",
    "Tokens",
    "Value",
    "largest",
]

_ALMOST_ONE = 1 - 2.0**-53
"""The largest number that a source of random numbers gives."""


@dataclass(frozen=True)
class Corpora:
    """Kinds of text with their weights (any positive scale)."""

    names: tuple[str, ...]
    weights: tuple[float, ...]

    def draw(self, source: RandomSource) -> str:
        """One of them."""
        return picked(self.names, self.weights, source.random())


def parse_corpora(value: object) -> Corpora:
    """`code`, or `{code: 5, log: 1}`. Raises `ValueError` that says what is wrong with it."""
    weights: Mapping[Any, Any] = {value: 1} if isinstance(value, str) else value if isinstance(value, dict) else {}
    if not weights:
        raise ValueError("a corpus is a name, or names with their weights")
    unknown = [str(name) for name in weights if name not in CORPORA]
    if unknown:
        raise ValueError(f"there is no corpus {', '.join(unknown)}; there are {', '.join(CORPORA)}")
    known = {str(name): number(weight, f"the weight of {name}") for name, weight in weights.items()}
    possible = {name: weight for name, weight in known.items() if weight > 0}
    if not possible:
        raise ValueError("the weights of corpora must not all be 0")
    return Corpora(tuple(possible), tuple(possible.values()))


def largest(value: Distribution) -> float:
    """About the largest number that a distribution gives, `min` and `max` left out."""
    return value.quantile(_ALMOST_ONE)


def _of_share(value: object) -> object:
    """A number alone is the share; all else has its default."""
    return {"share": value} if isinstance(value, int | float) and not isinstance(value, bool) else value


Value = Annotated[Distribution, PlainValidator(parse)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False, strict=True)]


class Frozen(BaseModel):
    """Pure data; a field that it doesn't know is a slip."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Tokens(Frozen):
    """A length of text."""

    tokens: Value


class Material(Tokens):
    """A length of text, and of which kind it is; null: as the profile's `corpus` says."""

    corpus: Annotated[Corpora, PlainValidator(parse_corpora)] | None = None


class Output(Tokens):
    """How much the model is asked to write.

    `natural`: `tokens` caps the answer, which may end earlier. `exact`: the server is told to ignore end-of-text, so
    that exactly so many tokens come; acceptance rates of such text say little.
    """

    mode: Literal["natural", "exact"]


class SharedPrefix(Frozen):
    """What stands in front of every session: the system message, and definitions of tools.

    `scope` says who has the same text: all sessions of a run, each `group:N` of N groups, or each session its own. It
    is the text alone that is shared: the salt of a session stands in front of it, so that servers find nothing of it
    in their cache, except where a chat template puts the definitions in front of the system message.
    """

    system_tokens: Value = Field(description="tokens of the system message")
    tools: int = Field(default=0, ge=0, le=500, strict=True, description="tools that the agent has")
    tool_tokens: Value | None = Field(default=None, description="tokens of all definitions together, as JSON")
    kind: ToolKind | None = Field(default=None, description="what the tools are for; null: no tools, a chat")
    scope: str = Field(default="run", pattern=r"^(run|session|group:[1-9][0-9]{0,3})$")


class Broken(Frozen):
    """Answers that the agent breaks off, after so many tokens.

    `resume`: it asks the same again at once. `drop`: a user speaks up; the answer so far stays in the history.
    """

    share: Share = Field(description="of all turns")
    after_tokens: Value = Field(default=Uniform(1, 100), description="tokens after which it is broken off")
    then: Literal["resume", "drop"] = "resume"


class Compaction(Frozen):
    """Sessions that sum up what was, once, at any turn behind the second, and go on from the summary."""

    share: Share = Field(description="of all sessions")
    summary_tokens: Value | None = Field(default=None, description="null: a sixteenth of min_context, 1,500 at most")


BrokenOrShare = Annotated[Broken, BeforeValidator(_of_share)]
CompactionOrShare = Annotated[Compaction, BeforeValidator(_of_share)]
