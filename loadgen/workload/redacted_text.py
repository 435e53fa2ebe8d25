"""Text in place of text: as long, and with the same stretches coming again at the same places.

A text is what is new in it and what is copied from earlier texts (`copied_spans`). What is new becomes text of the
corpus (`fresh_text`), unit for unit, and what is copied becomes the copy of what its source has become. So prompts
share the beginnings that they shared, and a draft from n-grams finds the same runs. That texts have as many tokens is
seen to unit by unit (`token_pace`): where too few have come, words are joined to longer ones; where too many, lines
are joined and words are short.
"""

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from loadgen.workload.copied_spans import Span, Spans
from loadgen.workload.copy_rate import UNIT
from loadgen.workload.corpus.library import Library
from loadgen.workload.fresh_text import KINDS, FreshText, Kind, Piece
from loadgen.workload.json_frame import Framed, framed
from loadgen.workload.redacted_names import Names
from loadgen.workload.token_pace import SLACK, Pace, guessed

__all__ = ["Lengths", "RedactedText"]

_RULE = 3
"""Equal marks one behind the other that are a rule, and stay: `---` says nothing."""
_PAIR = 2
_MOST_JOINED = 40
"""Words in one. Longer units are base64 and the like, which nothing reads."""


@dataclass(frozen=True)
class Lengths:
    """How long texts are: in tokens where they were counted, else guessed.

    Attributes:
        tokens: of every text that was counted.
        samples: of a sample of each kind of the text that is put in its place, by the same tokenizer.
    """

    tokens: Mapping[str, int] = field(default_factory=dict)
    samples: Mapping[Kind, int] = field(default_factory=dict)


@dataclass(frozen=True)
class _Old:
    """A text that is replaced: its units, what of a JSON object they are (null: it is none), which of them stay."""

    text: str
    units: Sequence[tuple[int, int]]
    frame: Sequence[Framed] | None
    rules: Sequence[bool]

    def piece(self, number: int) -> Piece:
        """A unit with the blanks in front of it."""
        begin, end = self.units[number]
        return self.text[self.units[number - 1][1] if number else begin : begin], self.text[begin:end]

    def stays(self, number: int, unit: str, names: Names, *, new: bool) -> str | None:
        """What stands in a unit's place whatever comes: marks that hold the text together; null: nothing does."""
        if self.frame is None:
            return unit if new and self.rules[number] else None
        this = self.frame[number]
        if this.kind == "text":
            return None
        if this.kind == "key":
            return names.name("arg", this.key) if this.key else ""
        return names.digits(unit) if this.kind == "number" else unit


class _New:
    """A text that has been put in place of another: its pieces, as many as the other has units."""

    def __init__(self, pieces: Sequence[Piece]) -> None:
        self.text = "".join(f"{gap}{unit}" for gap, unit in pieces)
        self._lengths = array("I", (len(part) for piece in pieces for part in piece))
        self._begins = array("I", [0])
        for gap, unit in pieces:
            self._begins.append(self._begins[-1] + len(gap) + len(unit))

    def pieces(self, begin: int, end: int) -> Iterator[Piece]:
        """Some of them."""
        for number in range(begin, end):
            start = self._begins[number]
            middle = start + self._lengths[2 * number]
            yield self.text[start:middle], self.text[middle : self._begins[number + 1]]


class RedactedText:
    """Replaces the texts of one recording, in their order."""

    def __init__(self, library: Library, lengths: Lengths) -> None:
        self._tokens = lengths.tokens
        self._spans = Spans()
        self._fresh = FreshText(library)
        samples = {kind: self._fresh.sample(kind) for kind in KINDS}
        guesses = {kind: guessed(sample) for kind, sample in samples.items()}
        self._per_unit = {kind: guesses[kind] / len(UNIT.findall(sample)) for kind, sample in samples.items()}
        self._scale = {kind: lengths.samples.get(kind, guesses[kind]) / guesses[kind] for kind in KINDS}
        self._pace = Pace()
        self._done: list[_New] = []
        self._known: dict[tuple[str, bool], str] = {}

    def replaced(self, text: str) -> str:
        """What stands in place of a text: always the same for the same text; blanks around it stay."""
        return self._replaced(text, None)

    def replaced_object(self, text: str, names: Names) -> str:
        """What stands in place of a JSON object: one of the same shape, with keys and numbers of these names.

        A text that is no JSON object is replaced as text.
        """
        return self._replaced(text, names)

    def _replaced(self, text: str, names: Names | None) -> str:
        units = [(unit.start(), unit.end()) for unit in UNIT.finditer(text)]
        if not units:
            return text
        key = text, names is not None
        if key not in self._known:
            frame = None if names is None else framed(text, units)
            old = _Old(text, units, frame, _rules(text, units))
            done = _New(self._pieces(old, names or Names()))
            self._done.append(done)
            self._known[key] = text[: units[0][0]] + done.text + text[units[-1][1] :]
        return self._known[key]

    def _pieces(self, old: _Old, names: Names) -> list[Piece]:
        """What its units become."""
        kind = self._begin(old)
        out: list[Piece] = []
        stayed = False
        for span in self._spans.add([old.text[begin:end] for begin, end in old.units]):
            coming = self._coming(span, out, kind)
            for number, (gap, unit) in zip(range(span.start, span.end), coming, strict=True):
                own_gap, own = old.piece(number)
                self._pace.want(own_gap, own)
                kept = old.stays(number, own, names, new=span.source is None)
                if kept is not None:
                    piece = own_gap, kept
                else:
                    # Where something stays, or two spans meet, the blanks are those that were there.
                    between = own_gap if stayed or number == span.start else gap
                    frame = old.frame[number] if old.frame is not None else None
                    piece = self._fitted(between, unit, frame, new=span.source is None)
                stayed = kept is not None
                out.append(_apart(out, piece))
                self._pace.put(*out[-1])
        return out

    def _begin(self, old: _Old) -> Kind:
        """The kind of text that has about as many tokens in as many units; its pace is that of the text from now on."""
        guess = guessed(old.text)
        tokens = self._tokens.get(old.text, guess)
        kind = min(KINDS, key=lambda one: abs(self._per_unit[one] * self._scale[one] * len(old.units) - tokens))
        self._pace.begin(tokens / guess, self._scale[kind])
        return kind

    def _coming(self, span: Span, so_far: Sequence[Piece], kind: Kind) -> Iterator[Piece]:
        """The pieces for the units of a span: what its source became, or new ones."""
        count = span.end - span.start
        if span.source is None:
            return iter(self._fresh.take(kind, count))
        text, unit = span.source
        if text == len(self._done):
            return iter(so_far[unit : unit + count])
        return self._done[text].pieces(unit, unit + count)

    def _fitted(self, gap: str, unit: str, frame: Framed | None, *, new: bool) -> Piece:
        """A piece as it fits: a `new` one to the tokens that are wanted, any into JSON."""
        if new:
            gap, unit = self._paced(gap, unit)
        if frame is None:
            return gap, unit
        gap = gap if gap.isprintable() else " "
        unit = "'" if unit in {'"', "\\"} else unit
        if frame.letter and not unit.startswith(frame.letter):
            unit = frame.letter + (unit if _is_one(f"n{unit}") else self._fresh.word())
        return gap, unit

    def _paced(self, gap: str, unit: str) -> Piece:
        """A piece that brings the text nearer to its length: a shorter one, or a word with others joined to it."""
        if self._pace.owed(gap, unit) < -SLACK:
            gap = " " if "\n" in gap else gap
            return gap, self._fresh.word(short=True) if unit.isidentifier() else unit
        joined = 1
        while unit.isidentifier() and joined < _MOST_JOINED and self._pace.owed(gap, unit) > SLACK:
            unit, joined = f"{unit}_{self._fresh.word()}", joined + 1
        return gap, unit


def _apart(before: Sequence[Piece], piece: Piece) -> Piece:
    """The piece, with a blank in front where it would run together with the one before it."""
    gap, unit = piece
    joined = before[-1][1][-1:] + unit[:1] if before and not gap else ""
    return (" ", unit) if len(joined) == _PAIR and _is_one(joined) else piece


def _rules(text: str, units: Sequence[tuple[int, int]]) -> list[bool]:
    """Of each unit, whether it is one of several equal marks one behind the other, or of the marks at either end.

    Those at the ends stand beside other texts of their message: a full stop in front of a call.
    """
    out: list[bool] = []
    while len(out) < len(units):
        begin, end = units[len(out)]
        length = 1
        while units[len(out) + length : len(out) + length + 1] == [(begin + length, end + length)]:
            if text[begin + length] != text[begin] or _is_one(text[begin] * 2):
                break
            length += 1
        out += [length >= _RULE] * length
    for side in (range(len(units)), range(len(units) - 1, -1, -1)):
        for number in side:
            if _is_one(text[units[number][0]] * 2):
                break
            out[number] = True
    return out


def _is_one(text: str) -> bool:
    """Whether a text is one unit."""
    return UNIT.fullmatch(text) is not None
