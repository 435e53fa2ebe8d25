"""Which variants differ in nothing but the acceptance that was set."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from loadgen.experiment.arguments import argument, comparable
from loadgen.experiment.command import Command
from loadgen.experiment.traps import SYNTHETIC
from loadgen.records.model import ServerStart

_VARIABLE = "LLAMA_ARG_SPEC_SYNTH_"
"""How the variables begin that set acceptance."""
_OF_THE_RUN = ("--port", "--host", "--alias")
"""Arguments that a router gives each of its servers: they differ between equal ones."""
_SAME = ("name", "speculative", "overhead")
"""Fields of a variant that say what it is called and what must be found, not what is run."""


@dataclass(frozen=True)
class Settings:
    """What a variant runs, apart from set acceptance.

    Variants of one `key` are the same but for that. `most_tokens` is the most that a step of it can give: its longest
    draft and one more; null where that isn't known.
    """

    key: str
    most_tokens: int | None


def settings(variants: Sequence[Mapping[str, Any]], starts: Sequence[ServerStart] = ()) -> dict[str, Settings]:
    """The settings of variants by name: as the experiment has them, else by the command that their server shows.

    `variants` are those of the published experiment (`run.manifest.experiment["variants"]`).
    """
    found = {}
    for variant in variants:
        name = str(variant["name"])
        if variant.get("args") is not None or variant.get("env") is not None:
            command = Command(
                str(variant.get("program", "")), tuple(map(str, variant.get("args") or ())), variant.get("env") or {}
            )
            rest = {field: value for field, value in variant.items() if field not in (*_SAME, "program", "args", "env")}
            found[name] = _settings(command, rest)
    for start in starts:
        if start.command and start.variant not in found:
            found[start.variant] = _settings(Command(start.command[0], tuple(start.command[1:])), {})
    return found


def _settings(command: Command, rest: Mapping[str, Any]) -> Settings:
    speculates = bool(command.speculation.types)
    longest = command.longest_draft if speculates else None
    gone = [part for name in (*SYNTHETIC, *_OF_THE_RUN) for part in argument(name, None)]
    bare = command.changed(gone)
    env = {name: value for name, value in command.env.items() if not name.startswith(_VARIABLE)}
    key = json.dumps([bare.program, bare.wrapper, comparable(bare.own), env, rest], sort_keys=True, default=str)
    return Settings(key, None if longest is None else longest + 1)
