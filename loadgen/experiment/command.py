"""A command that starts a server: its program, arguments and environment, and what it says of speculation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from loadgen.experiment import llama_flags as flags
from loadgen.experiment.arguments import Part, merged, parts, words_of
from loadgen.experiment.traps import speculation_in

_DEFAULT_N_MAX = 3
_DEFAULT_SIZE_M = 48
_DEFAULT_MOD_N_MAX = 64
_CACHE_N_MAX = 8
"""llama-server's defaults (b11549) for the longest draft of each kind; `ngram-cache` has no argument for it."""


@dataclass(frozen=True)
class Command:
    """A program with llama-server's arguments, maybe behind the words of a wrapper, and what is set for it."""

    program: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str | None] = field(default_factory=dict)

    @property
    def own(self) -> tuple[str, ...]:
        """llama-server's own arguments."""
        return self.args[flags.first_argument(self.program, self.args) :]

    @property
    def wrapper(self) -> tuple[str, ...]:
        """The words before them."""
        return self.args[: flags.first_argument(self.program, self.args)]

    @property
    def speculation(self) -> flags.Speculation:
        """What its arguments and variables say of speculation."""
        return speculation_in(self.own, self.env)

    @property
    def longest_draft(self) -> int | None:
        """The most tokens that one draft may hold; null where a type is unknown or a value is no number."""
        longest = [self.longest_of(kind) for kind in self.speculation.types]
        known = [length for length in longest if length is not None]
        return max(known) if known and len(known) == len(longest) else None

    def longest_of(self, kind: str) -> int | None:
        """The same of one type."""
        if kind.startswith("draft-"):
            n_max = self.speculation.n_max
            return _DEFAULT_N_MAX if n_max is None else n_max
        if kind == "ngram-mod":
            return _number(flags.value_of(self.own, "--spec-ngram-mod-n-max"), _DEFAULT_MOD_N_MAX)
        if kind == "ngram-cache":
            return _CACHE_N_MAX
        if kind in flags.TYPES:
            return _number(flags.value_of(self.own, f"--spec-{kind}-size-m"), _DEFAULT_SIZE_M)
        return None

    def changed(self, changes: Sequence[Part]) -> "Command":
        """The same with other arguments."""
        return replace(self, args=self.wrapper + words_of(merged(parts(self.own), changes)))

    def without_speculation(self) -> "Command":
        """The same without the arguments and variables of speculation and draft models."""
        kept = {name: value for name, value in self.env.items() if not flags.is_speculative_variable(name)}
        bare = replace(self, args=self.wrapper + flags.without_speculation(self.own), env=kept)
        gone = dict.fromkeys(filter(flags.is_speculative_variable, self.env))
        return replace(bare.shielded(), env={**bare.shielded().env, **gone})

    def shielded(self) -> "Command":
        """The same, safe from variables of speculation in loadgen's own environment."""
        return replace(self, env={**dict.fromkeys(flags.VARIABLES), **self.env})


def _number(text: str | None, default: int) -> int | None:
    if text is None:
        return default
    return int(text) if text.isascii() and text.isdecimal() else None
