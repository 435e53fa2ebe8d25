"""Thresholds are read from texts, or refused with one clear reason."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.analysis.criteria.threshold import METRICS, Op, Source, Unit, parse_threshold


@pytest.mark.parametrize(
    ("text", "parts", "limit"),
    [
        ("speedup@4>=0.97", (None, "speedup", 4, Op.AT_LEAST), 0.97),
        ("speedup>=97%", (None, "speedup", None, Op.AT_LEAST), 0.97),
        ("ttft.p95@4<=2s", (None, "ttft.p95", 4, Op.AT_MOST), 2.0),
        ("tpot.p50<80ms", (None, "tpot.p50", None, Op.BELOW), 0.08),
        ("task.p90<=5m30s", (None, "task.p90", None, Op.AT_MOST), 330.0),
        ("e2e.max<2", (None, "e2e.max", None, Op.BELOW), 2.0),
        ("good:memory_peak<=20GiB", ("good", "memory_peak", None, Op.AT_MOST), 20 * 2**30),
        ("failures<=1%", (None, "failures", None, Op.AT_MOST), 0.01),
        (" mtp-7 : acceptance_rate @ 8 > 0.5 ", ("mtp-7", "acceptance_rate", 8, Op.ABOVE), 0.5),
        ("speedup.ttft>=1", (None, "speedup.ttft", None, Op.AT_LEAST), 1.0),
        ("tasks_per_hour@1>120", (None, "tasks_per_hour", 1, Op.ABOVE), 120.0),
    ],
)
def test_a_threshold_is_read_with_its_unit(text: str, parts: tuple[object, ...], limit: float) -> None:
    """Variant and agents may be left out; times become seconds, sizes bytes, shares fractions of 1."""
    found = parse_threshold(text)
    assert (found.variant, found.metric.name, found.agents, found.op) == parts
    assert found.limit == pytest.approx(limit)
    assert found.text == text.strip()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "such as speedup@4>=0.97"),
        ("speedup", "such as speedup@4>=0.97"),
        ("speedup=1", "such as speedup@4>=0.97"),
        ("speedup==1", "such as speedup@4>=0.97"),
        ("speedup>=1>=2", "such as speedup@4>=0.97"),
        ("a b:speedup>=1", "such as speedup@4>=0.97"),
        ("speed>=1", "'speed' is no metric; there are speedup"),
        ("ttft<=2s", "ttft takes a quantile, such as ttft.p95, and it lacks one"),
        ("ttft.p97<=2s", "'p97' is none: p50, p90, p95, p99, max"),
        ("ttft.p95<=soon", "is not a duration"),
        ("memory_peak<=much", "is not a size"),
        ("memory_peak@4<=2GiB", "leave out @4"),
        ("speedup@0>=1", "concurrency starts at 1"),
        ("speedup>=0", "lies above 0"),
        ("speedup>=nan", "no share"),
        ("speedup>=-1", "no share"),
        ("tasks_per_hour>=50%", "no number"),
        ("tasks_per_hour>=" + "9" * 400, "is no number"),
        ("ttft.p50<=" + "9" * 400, "is no number"),
        ("speedup>=" + "9" * 400, "is no number"),
    ],
)
def test_other_texts_are_refused(text: str, message: str) -> None:
    """The reason names the part that is wrong, and what there is instead."""
    with pytest.raises(ValueError, match="(?s).*" + message.replace("(", r"\(")):
        parse_threshold(text)


_VALUES = {
    Unit.RATIO: ("0.5", 0.5),
    Unit.SHARE: ("2.5%", 0.025),
    Unit.SECONDS: ("250ms", 0.25),
    Unit.BYTES: ("3MiB", 3 * 2**20),
    Unit.NUMBER: ("12.5", 12.5),
}


@given(
    variant=st.none() | st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", fullmatch=True),
    metric=st.sampled_from(sorted(METRICS)),
    agents=st.none() | st.integers(1, 999_999),
    op=st.sampled_from(list(Op)),
    blank=st.sampled_from(["", " "]),
)
def test_every_well_formed_text_is_read_as_it_was_put_together(
    variant: str | None, metric: str, agents: int | None, op: Op, blank: str
) -> None:
    """The parts come back, for every metric, operator, name and concurrency."""
    value, limit = _VALUES[METRICS[metric].unit]
    if METRICS[metric].source is Source.MEMORY:
        agents = None
    text = blank.join(
        [*([variant, ":"] if variant else []), metric, *(["@", str(agents)] if agents else []), op.value, value]
    )
    found = parse_threshold(text)
    assert (found.variant, found.metric, found.agents, found.op) == (variant, METRICS[metric], agents, op)
    assert found.limit == pytest.approx(limit)


@given(st.text(max_size=40) | st.from_regex(r"[a-z.:@0-9]{0,12}[<>]=?[0-9a-z.%]{0,8}", fullmatch=True))
def test_any_text_gives_a_threshold_or_a_reason(text: str) -> None:
    """No text makes the parser fail in another way, and what it takes is finite and not negative."""
    try:
        found = parse_threshold(text)
    except ValueError:
        return
    assert 0 <= found.limit < float("inf")
    assert found.agents is None or found.agents >= 1
