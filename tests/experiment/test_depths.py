"""Depths are lists of tokens, or one clear sentence."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.errors import ExperimentError
from loadgen.experiment.build import experiment
from loadgen.experiment.depths import MAX_DEPTH, band, parse_depths
from loadgen.experiment.document import parse_experiment
from loadgen.experiment.tuning import Candidate, Tuning

VARIANTS = [{"kind": "url", "name": name, "url": f"http://{name}:1"} for name in ("off", "mtp")]


@pytest.mark.parametrize(
    ("text", "depths"),
    [
        ("2k,16k,48k", (2048, 16384, 49152)),
        ("500", (500,)),
        ("16K, 2000, 16k", (2000, 16384)),
        ("1", (1,)),
        (f"{MAX_DEPTH}", (MAX_DEPTH,)),
    ],
)
def test_depths_are_tokens_and_k_stands_for_1024(text: str, depths: tuple[int, ...]) -> None:
    """They come out ascending, each once."""
    assert parse_depths(text) == depths


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("deep", "'deep' is no number of tokens; write a list such as 2k,16k,48k"),
        ("", "'' is no number of tokens"),
        ("2k,,4k", "'' is no number of tokens"),
        ("1.5k", "'1.5k' is no number of tokens"),
        ("-2k", "'-2k' is no number of tokens"),
        ("0", "0 is no depth: a prompt has 1 to 10,000,000 tokens"),
        ("99999k", "99999k is no depth"),
    ],
)
def test_other_texts_are_refused(text: str, message: str) -> None:
    """The sentence names the part that is wrong."""
    with pytest.raises(ValueError, match=message.replace(".", r"\.")):
        parse_depths(text)


@given(st.text(alphabet="0123456789kK, x.-", max_size=20))
def test_any_text_gives_depths_or_a_value_error(text: str) -> None:
    """No text makes the parser fail in another way."""
    try:
        depths = parse_depths(text)
    except ValueError:
        return
    assert depths == tuple(sorted(set(depths)))
    assert all(1 <= depth <= MAX_DEPTH for depth in depths)


def test_the_band_is_a_fifth_on_each_side() -> None:
    """1,000 tokens hold prompts of 800 to 1,200."""
    assert band(1000) == (800, 1200)


@pytest.mark.parametrize(
    ("written", "depths"),
    [("2k,16k", (2048, 16384)), ("[2k, 500]", (2048, 500)), ("3000", (3000,)), ("null", None)],
)
def test_a_file_takes_a_text_or_a_list(written: str, depths: tuple[int, ...] | None) -> None:
    """And a single number; null is no depth."""
    text = f"depths: {written}\nvariants: [{{name: off, url: 'http://a:1'}}, {{name: mtp, url: 'http://b:1'}}]"
    fields, _ = parse_experiment(text, name="file")
    assert fields.get("depths") == depths


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("deep", "file, line 1: depths: 'deep' is no number of tokens"),
        ("[]", None),
        ("true", "depths"),
        ("[2k, 2048]", "a depth is listed twice"),
        ("[0]", "starts at 1"),
    ],
)
def test_a_wrong_depth_of_a_file_names_its_line(written: str, message: str | None) -> None:
    """Twice the same depth would measure it twice; an empty list measures at none."""
    text = f"depths: {written}\nvariants: [{{name: off, url: 'http://a:1'}}, {{name: mtp, url: 'http://b:1'}}]"
    if message is None:
        assert parse_experiment(text, name="file")[0]["depths"] == ()
        return
    with pytest.raises(ExperimentError, match=message):
        parse_experiment(text, name="file")


def test_settings_are_raced_at_one_depth() -> None:
    """A race has one winner: at two depths there might be two."""
    names = ("off", "mtp")
    tune = Tuning(candidates=tuple(Candidate(variant=name, n_max=None, slots=1, command="c") for name in names))
    fields = {"variants": VARIANTS, "baseline": "off", "levels": (1,), "agents": 1, "tune": tune}
    assert experiment(**fields, depths=(2048,)).depths == (2048,)
    with pytest.raises(ExperimentError, match="settings are raced at one depth, and there are 2: name one"):
        experiment(**fields, depths=(2048, 4096))
