"""What holds for every kind of text."""

import json
import subprocess
import sys
import sysconfig

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.gguf.tiny import WORDS
from loadgen.workload.corpus import CORPORA
from loadgen.workload.corpus.text import made, words
from loadgen.workload.draws import rng
from loadgen.workload.sizing import Ratio, Words

KINDS = st.sampled_from([corpus for corpus in CORPORA if corpus != "words"])
SEEDS = st.integers(0, 1000)


class Counted:
    """A source of random numbers that knows how many were taken."""

    def __init__(self, seed: int) -> None:
        self._source = rng(seed)
        self.taken = 0

    def random(self) -> float:
        """The next one."""
        self.taken += 1
        return float(self._source.random())


@given(SEEDS, st.integers(0, 300))
def test_words_are_exactly_so_many_of_the_tiny_models(seed: int, count: int) -> None:
    """Every word is one token of the tiny model, so the count is the token count."""
    text = words(rng(seed), count)
    assert len(text.split()) == count
    assert set(text.split()) <= set(WORDS)
    assert made("words", rng(seed), count, Words()).text == text


@given(KINDS, SEEDS, st.integers(0, 6000))
def test_text_is_cut_to_the_character(corpus: str, seed: int, characters: int) -> None:
    """However long a text is asked for, it has exactly so many characters, and a command printed it."""
    output = made(corpus, rng(seed), characters, Ratio(1.0))
    assert len(output.text) == characters
    assert output.command
    assert "\n" not in output.command


@given(KINDS, SEEDS, st.integers(0, 3000), st.integers(0, 3000))
def test_the_same_draws_give_the_beginning_of_the_same_text(corpus: str, seed: int, one: int, other: int) -> None:
    """Text depends on the stream of random numbers alone, and as much is drawn for a short one as for a long one."""
    sources = Counted(seed), Counted(seed)
    short, long = sorted((one, other))
    texts = [
        made(corpus, source, length, Ratio(1.0)).text for source, length in zip(sources, (short, long), strict=True)
    ]
    assert texts[1].startswith(texts[0])
    assert sources[0].taken == sources[1].taken > 0


@given(KINDS, SEEDS)
def test_no_text_names_a_place_of_this_machine(corpus: str, seed: int) -> None:
    """Paths are those of a source tree, whoever runs it."""
    output = made(corpus, rng(seed), 2000, Ratio(3.0))
    assert sysconfig.get_path("stdlib") not in output.text + output.command


def test_two_processes_make_the_same_text() -> None:
    """Neither hashes nor addresses of a process get into it."""
    program = (
        "import hashlib, json\n"
        "from loadgen.workload.corpus import CORPORA\n"
        "from loadgen.workload.corpus.text import made\n"
        "from loadgen.workload.draws import rng\n"
        "from loadgen.workload.sizing import Ratio\n"
        "text = lambda c: made(c, rng(5), 20000, Ratio(3.0)).text\n"
        "print(json.dumps([hashlib.sha256(text(c).encode()).hexdigest() for c in CORPORA]))\n"
    )
    said = [
        subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout
        for _ in range(2)
    ]
    assert said[0] == said[1]
    assert len(set(json.loads(said[0]))) == len(CORPORA)


def test_a_kind_that_there_is_not_is_refused() -> None:
    """With those that there are."""
    with pytest.raises(ValueError, match="'poems' is no kind of text; there are code, prose, listing"):
        made("poems", rng(1), 5, Ratio())
