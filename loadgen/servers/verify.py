"""Is a server what its variant says?"""

from loadgen.errors import VariantError
from loadgen.experiment.model import LaunchVariant, Variant
from loadgen.records.model import ServerFacts


def verify(variant: Variant, facts: ServerFacts) -> None:
    """Raises `VariantError` where the server is not what the variant says."""
    if not isinstance(variant, LaunchVariant) or variant.speculative is None or facts.speculative is None:
        return
    if variant.speculative and not facts.speculative:
        raise VariantError(
            f"the server of variant {variant.name!r} runs without speculation (/slots says speculative: false); "
            "look for 'spec' in its log: a draft model needs --spec-type, and draft-simple needs -md"
        )
    if facts.speculative and not variant.speculative:
        raise VariantError(
            f"the server of variant {variant.name!r} speculates although its command doesn't ask for it; "
            "look for LLAMA_ARG_SPEC_… in the environment or a configuration file of the wrapper"
        )
