"""How the variants of an experiment are brought up in turn: in blocks, alternating, or anew for every trial."""

from loadgen.experiment.llama_flags import first_argument, speculation_of
from loadgen.experiment.model import Experiment
from loadgen.experiment.variant import LaunchVariant, RequestVariant, UrlVariant, Variant

OUTLIVES = ("ngram-mod", "ngram-cache")
"""Types of speculation that keep what they learned from earlier requests: a second trial on the same server would draft
better than the first one did."""


def alternates(experiment: Experiment) -> bool:
    """Whether variants switch at every level instead of running all levels in one block."""
    launched = any(isinstance(variant, LaunchVariant) for variant in experiment.variants)
    return not launched or experiment.restart_per_level or experiment.coresident


def needs_fresh_server(variant: Variant) -> bool:
    """Whether every trial of a variant needs a server of its own: asked for, or its draft state outlives requests."""
    if not isinstance(variant, LaunchVariant):
        return False
    if variant.fresh is not None:
        return variant.fresh
    own = variant.args[first_argument(variant.program, variant.args) :]
    types = (*speculation_of(own).types, *(variant.env.get("LLAMA_ARG_SPEC_TYPE") or "").split(","))
    return any(kind in OUTLIVES for kind in types)


def stays_open(variant: Variant, experiment: Experiment) -> bool:
    """Whether a variant's server is opened once for the whole run."""
    if isinstance(variant, LaunchVariant):
        return experiment.coresident and not needs_fresh_server(variant)
    return isinstance(variant, (UrlVariant, RequestVariant))
