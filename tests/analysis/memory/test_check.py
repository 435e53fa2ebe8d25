"""A prediction is held against a log component by component, to the digit that the log prints."""

from loadgen.analysis.memory.check import Check, check, fit
from loadgen.footprint.prediction import Prediction, Share
from loadgen.records.model import Component

MIB = 1 << 20

PREDICTION = Prediction(
    (
        Share("model", 32 * MIB + 2000, "gguf", ""),
        Share("mtp_model", 8 * MIB, "gguf", ""),
        Share("kv", 2 * MIB, "gguf", ""),
        Share("compute", 10 * MIB, "estimated", ""),
        Share("draft_kv", None, "gguf", ""),
        Share("prompt_cache", 8192 * MIB, "arguments", "", grows=True),
    )
)


def _logged(component: str, mib: float, device: str = "CPU") -> Component:
    return Component(component=component, bytes=round(mib * MIB), source="log", device=device)


LEDGER = [_logged("model", 30.0), _logged("model", 10.0, "CUDA0"), _logged("kv", 2.02), _logged("compute", 8.0)]


def test_each_component_is_equal_or_differs() -> None:
    """To the digit, with heads in the model's weights and devices summed.

    What is estimated or unknown is not judged, and the host's side is left out.
    """
    assert check(PREDICTION, LEDGER) == [
        Check("model", 40 * MIB + 2000, 40 * MIB, estimated=False, equal=True),
        Check("kv", 2 * MIB, round(2.02 * MIB), estimated=False, equal=False),
        Check("compute", 10 * MIB, 8 * MIB, estimated=True, equal=None),
        Check("draft_kv", None, None, estimated=False, equal=None),
    ]


def test_what_only_the_log_has_is_shown() -> None:
    """It differs from a prediction that lacks it."""
    (*_, last) = check(PREDICTION, [*LEDGER, _logged("kv_swa", 1.0)])
    assert last == Check("kv_swa", None, MIB, estimated=False, equal=False)
    assert last.difference is None


def test_weights_repacked_for_the_cpu_are_apart() -> None:
    """A copy that depends on the machine: shown, not judged, and no part of the model's own weights."""
    (first, *_, last) = check(PREDICTION, [*LEDGER, _logged("model", 12.5, "CPU_REPACK")])
    assert (first.component, first.equal) == ("model", True)
    assert last == Check("model_repacked", None, round(12.5 * MIB), estimated=False, equal=None)


def test_how_far_off_an_estimate_is() -> None:
    """As a share of the log's figure."""
    assert [one.difference for one in check(PREDICTION, LEDGER)][2] == 0.25


def test_factors_make_the_estimate_the_logs() -> None:
    """For the components that both have."""
    assert fit(PREDICTION, LEDGER) == {"compute": 0.8}
    assert fit(PREDICTION, LEDGER[:2]) == {}
