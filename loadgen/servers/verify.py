"""Is a server what its variant says?"""

from loadgen.errors import VariantError
from loadgen.experiment import llama_flags as flags
from loadgen.experiment.traps import speculation_in
from loadgen.experiment.variant import LaunchVariant, RequestVariant, Variant
from loadgen.records.model import ServerFacts

_WHY_NOTHING = "look at --spec-draft-p-min, --spec-draft-n-max and, for n-gram types, their size-n and min-hits"


def verify(variant: Variant, facts: ServerFacts) -> None:
    """Do nothing where `/slots` and the probe agree with what the variant says of speculation.

    What the server doesn't tell (another kind of server, `--no-slots`, no probe) is not held against it.

    Raises `VariantError` with the likely cause where they don't agree.
    """
    if isinstance(variant, RequestVariant):
        fault = _fault_of_fields(variant, facts)
    elif variant.overhead:
        fault = _fault_of_overhead(variant, facts)
    elif variant.speculative is None:
        fault = None
    else:
        fault = _fault_when_on(variant, facts) if variant.speculative else _fault_when_off(variant, facts)
    if fault is not None:
        raise VariantError(f"variant {variant.name!r}: {fault}")


def _fault_when_on(variant: Variant, facts: ServerFacts) -> str | None:
    if facts.speculative is False:
        return f"its server runs without speculation (/slots says speculative: false); {_why_off(variant)}"
    if facts.drafted == 0:
        return f"speculation is loaded, but a probe that repeats one token drafted nothing; {_WHY_NOTHING}"
    return None


def _fault_when_off(variant: Variant, facts: ServerFacts) -> str | None:
    if not (facts.speculative or facts.drafted):
        return None
    seen = "/slots says so" if facts.speculative else f"a probe drafted {facts.drafted} tokens"
    where = (
        "look for LLAMA_ARG_SPEC_… in the environment or a configuration file of the wrapper"
        if isinstance(variant, LaunchVariant)
        else "start it with --spec-type none and without -md, or give the variant the right server"
    )
    return f"its server speculates ({seen}) although it must not; {where}"


def _fault_of_overhead(variant: Variant, facts: ServerFacts) -> str | None:
    if facts.speculative is False:
        return (
            "it is to carry speculation that drafts nothing, but its server runs without (/slots says speculative: "
            f"false); {_why_off(variant)}"
        )
    if facts.drafted:
        return (
            f"it must draft nothing (overhead), but a probe drafted {facts.drafted} tokens; raise "
            "--spec-draft-p-min to 0.999999, or for n-gram types their size-n"
        )
    return None


def _fault_of_fields(variant: RequestVariant, facts: ServerFacts) -> str | None:
    """Fields of a request are probed with and without: a server that ignores them answers all the same."""
    names = ", ".join(sorted(variant.body))
    must_draft = variant.speculative and not variant.overhead
    plain = facts.drafted_plain
    if facts.drafted and not must_draft:
        if plain:
            return (
                f"its server ignores {names}: a probe drafted {facts.drafted} tokens with and {plain} without, as "
                "llama-server does, which takes no speculation per request; compare two servers instead"
            )
        return f"a probe with {names} drafted {facts.drafted} tokens although it must draft none"
    if facts.drafted == 0 and must_draft:
        if plain:
            return f"{names} switch speculation off: a probe drafted nothing with and {plain} tokens without"
        if facts.speculative is False:
            return f"{names} can't switch speculation on: /slots says that none is loaded; {_why_off(variant)}"
        return f"a probe drafted nothing, neither with {names} nor without: they are ignored, or {_WHY_NOTHING}"
    return None


def _why_off(variant: Variant) -> str:
    """What most likely keeps speculation off, from the command where we have one."""
    if not isinstance(variant, LaunchVariant):
        return "start it with --spec-type; a draft model (-md) alone is not enough, and draft-simple needs one"
    own = variant.args[flags.first_argument(variant.program, variant.args) :]
    asked = speculation_in(own, variant.env)
    if not asked.types:
        return (
            "a draft model alone doesn't switch it on: add --spec-type draft-simple"
            if asked.draft is not None
            else "its command has no --spec-type"
        )
    types = ",".join(asked.types)
    if asked.draft is None and any(kind.startswith("draft-") and kind != "draft-mtp" for kind in asked.types):
        return f"--spec-type {types} needs a draft model: add -md DRAFT.gguf"
    if "draft-mtp" in asked.types and asked.draft is None:
        return "draft-mtp needs a model with MTP heads; its log says at load whether this one has them"
    return f"its log says at load why --spec-type {types} failed (look for 'spec')"
