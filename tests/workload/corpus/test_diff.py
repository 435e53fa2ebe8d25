"""Unified diffs."""

import re
from collections.abc import Iterator

import pytest

from loadgen.workload.corpus.library import standard
from loadgen.workload.corpus.text import made
from loadgen.workload.draws import rng
from loadgen.workload.sizing import Ratio

FILES = {file.path: file.pieces for file in standard().sources}
HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


def sections(text: str) -> Iterator[tuple[str, list[str]]]:
    """Each file's path and the lines of its hunks, those of the last left out, for the cut goes through it."""
    parts = text.split("diff --git a/")[1:-1]
    for part in parts:
        lines = part.removesuffix("\n").split("\n")
        path = lines[0].partition(" b/")[0]
        assert lines[1:3] == [f"--- a/{path}", f"+++ b/{path}"]
        yield path, lines[3:]


def applied(before: tuple[str, ...], hunks: list[str]) -> list[str]:
    """The file after the change. Every line that a hunk shows as old must stand where the hunk says."""
    after: list[str] = []
    at = 0
    for line in hunks:
        if match := HUNK.match(line):
            start = int(match[1]) - 1
            after += before[at:start]
            at = start
            assert match.group(1, 2) == match.group(3, 4)
        elif line.startswith("+"):
            after.append(line[1:])
        else:
            assert before[at] == line[1:]
            at += 1
            after += [line[1:]] if line.startswith(" ") else []
    return [*after, *before[at:]]


@pytest.mark.parametrize("seed", range(6))
def test_a_diff_applied_to_its_file_renames_one_name_everywhere(seed: int) -> None:
    """What `patch` would make of it is the file with that name changed in every place, and nothing else."""
    found = list(sections(made("diff", rng(seed), 40_000, Ratio()).text))
    assert found
    for path, hunks in found:
        after = applied(FILES[path], hunks)
        changed = [(old, new) for old, new in zip(FILES[path], after, strict=True) if old != new]
        assert changed
        names = {word for _, new in changed for word in re.findall(r"\w+_(?:new|value|impl|or_none)\b", new)}
        (name,) = {
            word
            for word in names
            if all(re.sub(rf"\b{word.rpartition(suffix(word))[0]}\b", word, old) == new for old, new in changed)
        }
        old = name.rpartition(suffix(name))[0]
        assert [re.sub(rf"\b{old}\b", name, line) for line in FILES[path]] == after


def suffix(word: str) -> str:
    """What was put behind a name."""
    return next(end for end in ("_or_none", "_value", "_impl", "_new") if word.endswith(end))


def test_a_hunk_keeps_three_lines_around_its_changes() -> None:
    """As git shows them: no more, and changes that are closer share a hunk."""
    for _, hunks in sections(made("diff", rng(2), 40_000, Ratio()).text):
        runs = "".join("@" if line.startswith("@@") else line[0] for line in hunks)
        for hunk in runs.split("@")[1:]:
            assert re.fullmatch(r" {0,3}[-+][-+ ]*?[-+]? {0,3}", hunk)
            assert " " * 7 not in hunk
