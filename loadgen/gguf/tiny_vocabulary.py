"""The vocabulary of the tiny model: 1,024 tokens in which English and code are few."""

from dataclasses import dataclass

_WORDS = """
    the of and to in is it for that on with as at by from this not are be or an was but have has you we they he she his
    her its all can will one two three what when which where who how why there then than more most some any each other
    into out up down over under after before between through about because so if else no yes new old first last next
    same own many few much very just only also even still well back here now time year day work way people part place
    case point group number problem fact hand world life home long high small large good great little right left true
    false def return import class while break continue pass try except finally raise assert async await yield lambda
    global print input open close read write append insert remove update delete create list dict set tuple string
    integer float bool none self super init main name file path line text data value key index item count size length
    start end step loop test build run call add get put post request response server client socket port host url query
    table column row field type object method function module package variable constant argument parameter option flag
    config default error warning message log debug trace info result output status code token model prompt context cache
    memory buffer queue stack tree node edge graph array vector matrix map filter reduce sort search find replace match
    split join merge branch commit push pull diff patch version release issue bug fix change check verify parse format
    encode decode load save store fetch send receive wait sleep thread process task job agent user tool system assistant
    program script shell folder question answer reason plan goal editor terminal
"""

WORDS: tuple[str, ...] = tuple(_WORDS.split())
"""Words that are one token each, with a blank before them or at the start of a text."""

_CONTROL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
_SIZE = 1024
_RUNS = ("\n\n", "  ", "    ", "        ", "\n    ", "\n        ", "```", "()", "):", "->", "==", "://", ". ", ", ")


@dataclass(frozen=True)
class Vocabulary:
    """Pieces by token id, in the escaped form of the RWKV tokenizer, and the ids that have a meaning of their own.

    `said` are the tokens that the model may produce: the words with a blank before them.
    """

    pieces: tuple[str, ...]
    control: frozenset[int]
    end_of_text: int
    end_of_message: int
    said: range


def _escaped(piece: str) -> str:
    return piece.replace("\\", "\\\\").replace("\n", "\\n")


def _vocabulary() -> Vocabulary:
    printable = range(0x20, 0x7F)
    byte_pieces = [_escaped(chr(b)) if b in printable else f"\\x{b:02x}" for b in range(256)]
    spaced = [f" {word}" for word in WORDS]
    singles = [f" {chr(code)}" for code in range(0x21, 0x7F)]
    pieces = [*_CONTROL, *byte_pieces, *spaced, *WORDS, *map(_escaped, _RUNS), *singles]
    # Two-digit numbers fill the rest, so that the size is a round one.
    pieces += [str(number) for number in range(10, 100)][: _SIZE - len(pieces)]
    first_word = len(_CONTROL) + len(byte_pieces)
    return Vocabulary(
        pieces=tuple(pieces),
        control=frozenset(range(len(_CONTROL))),
        end_of_text=0,
        end_of_message=_CONTROL.index("<|im_end|>"),
        said=range(first_word, first_word + len(WORDS)),
    )


VOCABULARY = _vocabulary()
