"""What a tuning run tries: the candidates, and which of them predicted memory kept out. Pure data."""

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["Candidate", "Tuning"]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Candidate(_Frozen):
    """One way to run the command that is tuned."""

    variant: str = Field(description="its name among the variants of the run")
    types: tuple[str, ...] = Field(default=(), description="types of speculation; empty without")
    n_max: int | None = Field(description="the longest draft; 0 without speculation, null where it can't be set")
    slots: int = Field(ge=1, description="how many requests it serves at once")
    p_min: float | None = Field(default=None, description="as varied; null where it is not")
    command: str = Field(description="the command as it was typed, with these settings; keys are masked")
    predicted_bytes: int | None = Field(default=None, description="memory held from the start; null: not predicted")


class Tuning(_Frozen):
    """A race of settings at one number of agents.

    Its looks and fresh rounds follow from the rounds of the first plan (`race_schedule`), so they are no part of it.
    """

    candidates: tuple[Candidate, ...] = Field(min_length=2, description="the baseline among them")
    pruned: tuple[Candidate, ...] = Field(default=(), description="kept out, because they don't leave the margin")
    budget_bytes: int | None = Field(default=None, description="what predicted memory was held against; null: nothing")
    margin_bytes: int | None = Field(default=None, description="what was to be left of it")
    not_pruned: str | None = Field(default=None, description="why predicted memory kept nothing out; null: it could")
