"""What of a text is new, and what is copied from where."""

from hypothesis import given
from hypothesis import strategies as st

from loadgen.workload.copied_spans import Span, Spans
from loadgen.workload.copy_rate import grams_of


def words(first: int, last: int) -> list[str]:
    """The words w1 w2 …, both ends included."""
    return [f"w{number}" for number in range(first, last + 1)]


def test_a_copy_is_as_long_as_it_can_be() -> None:
    """Words 3 to 12 of the first text, with something new on either side."""
    spans = Spans()
    assert spans.add(words(1, 20)) == [Span(0, 20)]
    assert spans.add(["a", *words(3, 12), "b", "c"]) == [Span(0, 1), Span(1, 11, (0, 2)), Span(11, 13)]


def test_seven_units_are_no_copy() -> None:
    """Eight are."""
    spans = Spans()
    spans.add(words(1, 20))
    assert spans.add(words(1, 7)) == [Span(0, 7)]
    assert spans.add(words(1, 8)) == [Span(0, 8, (0, 0))]


def test_a_text_copies_from_itself_what_lies_in_front() -> None:
    """Never from where it still is."""
    assert Spans().add(words(1, 9) * 2) == [Span(0, 9), Span(9, 18, (0, 0))]
    assert Spans().add(["x"] * 24) == [Span(0, 8), Span(8, 16, (0, 0)), Span(16, 24, (0, 0))]


def test_the_same_text_is_one_copy_and_an_empty_one_nothing() -> None:
    """From its first place."""
    spans = Spans()
    spans.add(words(1, 30))
    spans.add(words(1, 30))
    assert spans.add(words(1, 30)) == [Span(0, 30, (0, 0))]
    assert spans.add([]) == []


def test_of_several_sources_the_one_of_the_longest_copy_counts() -> None:
    """Whichever stood first."""
    spans = Spans()
    spans.add([*words(1, 9), "x"])
    spans.add([*words(1, 12), "x"])
    assert spans.add(words(1, 14)) == [Span(0, 12, (1, 0)), Span(12, 14)]


@given(texts=st.lists(st.lists(st.sampled_from("abc"), max_size=60), max_size=5))
def test_spans_cover_a_text_and_copies_say_what_their_sources_said(texts: list[list[str]]) -> None:
    """Without a gap; and what is new has no gram of an earlier text in it."""
    spans = Spans()
    for number, text in enumerate(texts):
        found = spans.add(text)
        assert [unit for span in found for unit in range(span.start, span.end)] == list(range(len(text)))
        seen = {gram for earlier in texts[:number] for gram in grams_of(" ".join(earlier))}
        for span in found:
            units = text[span.start : span.end]
            if span.source is None:
                assert seen.isdisjoint(grams_of(" ".join(units)))
            else:
                source, begin = span.source
                assert len(units) >= 8
                assert texts[source][begin : begin + len(units)] == units
