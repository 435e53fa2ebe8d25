"""Rows of files from elsewhere: lines and documents, packed and broken."""

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from loadgen.errors import WorkloadError
from loadgen.workload.recorded import Problem
from loadgen.workload.rows import DEEPEST, Row, read_rows

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inside: st.lists(inside, max_size=4) | st.dictionaries(st.text(max_size=5), inside, max_size=4),
    max_leaves=10,
)


def rows_of(folder: Path, content: bytes) -> list[Row | Problem]:
    """What is read of a file of these bytes."""
    path = folder / "f.jsonl"
    path.write_bytes(content)
    return list(read_rows(path))


def told(found: list[Row | Problem]) -> list[str]:
    """The problems as they are printed."""
    return [str(one) for one in found if isinstance(one, Problem)]


def values(found: list[Row | Problem]) -> list[tuple[int, Any]]:
    """The rows' lines and values."""
    return [(one.line, one.value) for one in found if isinstance(one, Row)]


def test_each_line_is_a_row_with_its_number(tmp_path: Path) -> None:
    """Empty lines are no rows, but count."""
    assert rows_of(tmp_path, b'{"a":1}\n\n  \n{"a":2}') == [Row(1, {"a": 1}), Row(4, {"a": 2})]


def test_a_byte_order_mark_and_windows_line_ends_are_no_content(tmp_path: Path) -> None:
    """What Windows writes is read alike."""
    assert rows_of(tmp_path, b'\xef\xbb\xbf{"a":1}\r\n{"a":2}\r\n') == [Row(1, {"a": 1}), Row(2, {"a": 2})]


def test_a_broken_line_is_told_with_its_place_and_reading_goes_on(tmp_path: Path) -> None:
    """The file, the line, and the character are named."""
    assert rows_of(tmp_path, b'{"a":1}\n{"a":,}\n{"a":3}\n') == [
        Row(1, {"a": 1}),
        Problem("f.jsonl", 2, "skipped: no JSON: expecting value at character 6"),
        Row(3, {"a": 3}),
    ]


def test_a_broken_first_line_is_skipped_like_any_other(tmp_path: Path) -> None:
    """It doesn't make one document of the file where the second line is whole."""
    found = rows_of(tmp_path, b'{"a":"cut o\n{"a":2}\n')
    assert values(found) == [(2, {"a": 2})]
    assert told(found) == ["f.jsonl:1: skipped: no JSON: invalid control character at at character 12"]


@pytest.mark.parametrize("content", [b"", b"\n\n", b"\xef\xbb\xbf"])
def test_an_empty_file_has_no_row(tmp_path: Path, content: bytes) -> None:
    """Nothing is no mistake of the reader's."""
    assert rows_of(tmp_path, content) == []


def test_the_elements_of_an_array_are_rows_with_the_lines_on_which_they_begin(tmp_path: Path) -> None:
    """An array may stand on one line or on many, and behind empty ones."""
    assert rows_of(tmp_path, b"[1, 2]") == [Row(1, 1), Row(1, 2)]
    assert rows_of(tmp_path, b"[]") == []
    pretty = b'\n[\n  {\n    "a": 1\n  },\n\n  {"a": 2}\n]\n'
    assert rows_of(tmp_path, pretty) == [Row(3, {"a": 1}), Row(7, {"a": 2})]


def test_of_a_broken_array_what_came_before_the_fault_is_read(tmp_path: Path) -> None:
    """The rest is told to be lost."""
    found = rows_of(tmp_path, b'[\n{"a": 1},\n{"a": x},\n{"a": 3}]')
    assert values(found) == [(2, {"a": 1})]
    assert told(found) == ["f.jsonl:3: no JSON from here on: expecting value"]
    assert told(rows_of(tmp_path, b"[1,\n2\n")) == ["f.jsonl:3: no JSON from here on: it ends without ']'"]
    assert told(rows_of(tmp_path, b"[1]\n[2]")) == [
        "f.jsonl:2: no JSON from here on: something stands behind the array"
    ]
    assert told(rows_of(tmp_path, b"[1 2]")) == ["f.jsonl:1: no JSON from here on: ']' is expected here"]


def test_documents_over_several_lines_are_rows(tmp_path: Path) -> None:
    """One document, or several one behind the other, with the lines on which they begin."""
    assert rows_of(tmp_path, b'{\n "a": 1\n}\n') == [Row(1, {"a": 1})]
    assert rows_of(tmp_path, b'\n{\n "a": 1\n}\n{\n "a": 2\n}') == [Row(2, {"a": 1}), Row(5, {"a": 2})]


def test_gzip_and_zstd_are_known_by_their_content(tmp_path: Path) -> None:
    """The name doesn't matter, and files put together of several packed ones are read to their end."""
    zstandard = pytest.importorskip("zstandard")
    lines = b'{"a":1}\n{"a":2}\n'
    expected = [Row(1, {"a": 1}), Row(2, {"a": 2})]
    assert rows_of(tmp_path, gzip.compress(lines)) == expected
    assert rows_of(tmp_path, gzip.compress(lines[:8]) + gzip.compress(lines[8:])) == expected
    pack = zstandard.ZstdCompressor().compress
    assert rows_of(tmp_path, pack(lines)) == expected
    assert rows_of(tmp_path, pack(lines[:8]) + pack(lines[8:])) == expected


def test_a_packed_file_that_is_cut_off_is_read_up_to_there_and_told(tmp_path: Path) -> None:
    """No line that was whole is lost, and what is missing isn't passed over."""
    zstandard = pytest.importorskip("zstandard")
    lines = b"".join(b'{"number":%d}\n' % number for number in range(50_000))
    for packed in (gzip.compress(lines), zstandard.ZstdCompressor().compress(lines)):
        found = rows_of(tmp_path, packed[: len(packed) // 2])
        *good, last = found
        assert all(isinstance(one, Row) for one in good)
        assert isinstance(last, Problem)
        assert last.line in {len(good), len(good) + 1}
        assert last.text == "its compressed data ends too early: the file is read up to here"


def test_damaged_packed_data_is_told(tmp_path: Path) -> None:
    """Flipped bytes end reading with a problem, not with an error of the library."""
    zstandard = pytest.importorskip("zstandard")
    lines = b"".join(b'{"number":%d}\n' % (number * 7919 % 100_003) for number in range(20_000))
    for packed in (gzip.compress(lines), zstandard.ZstdCompressor(write_checksum=True).compress(lines)):
        middle = len(packed) // 2
        broken = packed[:middle] + bytes(byte ^ 0xFF for byte in packed[middle : middle + 64]) + packed[middle + 64 :]
        assert told(rows_of(tmp_path, broken))[-1].endswith(": the file is read up to here")
    checked = gzip.compress(lines)[:-8] + bytes(8)
    assert "its data is damaged (CRC check failed" in told(rows_of(tmp_path, checked))[-1]


def test_an_array_in_packed_data_that_is_cut_off_is_read_up_to_there(tmp_path: Path) -> None:
    """Elements that were whole are rows."""
    array = json.dumps([{"number": number} for number in range(100_000)]).encode()
    packed = gzip.compress(array)
    *good, last = rows_of(tmp_path, packed[: len(packed) // 2])
    assert len(good) > 1000
    assert isinstance(last, Problem)
    assert last.text == "its compressed data ends too early: the rest isn't read"


def test_lone_surrogates_and_nuls_in_texts_are_replaced_and_told_with_their_field(tmp_path: Path) -> None:
    """They can't be sent; whole pairs can."""
    found = rows_of(tmp_path, rb'{"m":[{"content":"a\ud800b\u0000c"}],"k":"\ud83d\ude00","\udc00":1}')
    assert values(found) == [(1, {"m": [{"content": "a�b�c"}], "k": "\U0001f600", "�": 1})]
    what = "characters that can't be sent (NUL, or half of a pair) were replaced in m[0].content; 2 texts in all"
    assert told(found) == [f"f.jsonl:1: {what}"]
    assert told(rows_of(tmp_path, rb'["\ud83d\ude00"]')) == []
    # The same, written as the bytes of the half.
    assert values(rows_of(tmp_path, b'{"a":"\xed\xa0\x80"}')) == [(1, {"a": "�"})]


def test_raw_nuls_and_broken_utf8_skip_their_line_only(tmp_path: Path) -> None:
    """What a crash leaves at the end of a file doesn't take the rest with it."""
    found = rows_of(tmp_path, b'{"a":1}\n\x00\x00\x00\x00\n{"a":"\xff"}\n{"a":4}\n')
    assert values(found) == [(1, {"a": 1}), (4, {"a": 4})]
    assert told(found) == [
        "f.jsonl:2: skipped: no JSON: expecting value at character 1",
        "f.jsonl:3: skipped: no JSON: it is no UTF-8 at byte 7",
    ]


def test_a_file_in_utf16_is_refused_with_the_way_out(tmp_path: Path) -> None:
    """It would be no row from its first line on."""
    with pytest.raises(WorkloadError, match="UTF-16, not UTF-8: iconv"):
        rows_of(tmp_path, '{"a":1}\n'.encode("utf-16"))


def test_values_that_nest_too_deeply_are_skipped(tmp_path: Path) -> None:
    """Up to the limit they are rows; beyond it, and far beyond it, they would end a recursion."""
    nested = b"[" * (DEEPEST - 1) + b"]" * (DEEPEST - 1)
    assert values(rows_of(tmp_path, b'{"a":' + nested + b"}"))[0][0] == 1
    deeper = b'{"a":[' + nested + b"]}\n"
    assert told(rows_of(tmp_path, deeper)) == [
        "f.jsonl:1: skipped: more than 100 lists and objects stand in each other"
    ]
    far = rows_of(tmp_path, b'{"a":1}\n' + b'{"a":' * 100_000 + b"1" + b"}" * 100_000)
    assert told(far) == ["f.jsonl:2: skipped: no JSON: it is nested too deeply"]


def test_a_line_of_50_mb_is_a_row_like_any_other(tmp_path: Path) -> None:
    """Neither the line nor what stands behind it is lost."""
    long = b"x" * 50_000_000
    found = rows_of(tmp_path, b'{"a":"' + long + b'"}\n{"a":2}\n')
    assert [(row.line, len(str(row.value["a"]))) for row in found if isinstance(row, Row)] == [(1, 50_000_000), (2, 1)]


def test_a_line_that_would_fill_memory_is_skipped(tmp_path: Path) -> None:
    """One without an end, say: it is read away in pieces, and the next line counts on."""
    path = tmp_path / "f.jsonl.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        for _ in range(270):
            file.write(b" " * (1 << 20))
        file.write(b'\n{"a":2}\n')
    found = list(read_rows(path))
    assert found == [Problem("f.jsonl.gz", 1, "skipped: the line is longer than 256 MiB"), Row(2, {"a": 2})]


def test_numbers_that_python_refuses_are_problems(tmp_path: Path) -> None:
    """A number of 5,000 digits, say, in a line or in an array."""
    digits = b"1" * 5000
    assert "skipped: no JSON: " in told(rows_of(tmp_path, b'{"a":' + digits + b"}\n"))[0]
    assert "no JSON from here on: " in told(rows_of(tmp_path, b"[" + digits + b"]"))[0]


READ = """
import sys
from pathlib import Path
if "without" in sys.argv:
    sys.modules["zstandard"] = None
from loadgen.errors import WorkloadError
from loadgen.workload.rows import read_rows
try:
    print(list(read_rows(Path(sys.argv[1]))))
except WorkloadError as error:
    print(error)
"""


def printed_by_a_child(*arguments: str, given: bytes = b"") -> str:
    """What a process prints that reads a file: the rows, or the sentence of the error."""
    found = subprocess.run([sys.executable, "-c", READ, *arguments], input=given, capture_output=True, check=True)
    return found.stdout.decode().strip()


def test_without_the_package_for_zstd_the_sentence_names_it(tmp_path: Path) -> None:
    """And the way without it."""
    path = tmp_path / "f.zst"
    path.write_bytes(b"\x28\xb5\x2f\xfd")
    assert printed_by_a_child(str(path), "without") == (
        f"{path} is compressed with zstd: pip install 'loadgen[workloads]', or unpack it (zstd -d)."
    )


def test_a_pipe_is_read_like_a_file() -> None:
    """Packed or plain: nothing of it is read twice."""
    for content in (b'{"a":1}', gzip.compress(b'{"a":1}')):
        assert printed_by_a_child("/dev/stdin", given=content) == "[Row(line=1, value={'a': 1})]"


def test_a_file_that_cannot_be_opened_is_one_sentence(tmp_path: Path) -> None:
    """A missing file, and a folder."""
    with pytest.raises(WorkloadError, match=r"gone\.jsonl can't be read: No such file or directory\."):
        list(read_rows(tmp_path / "gone.jsonl"))
    with pytest.raises(WorkloadError, match="can't be read: Is a directory"):
        list(read_rows(tmp_path))


@given(st.lists(JSON_VALUES.map(lambda value: {"value": value}), max_size=5), st.sampled_from([None, 1]))
def test_what_json_writes_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, objects: list[dict[str, Any]], indent: int | None
) -> None:
    """As lines, as an array on one line or many: the same rows, but for what can't be sent."""
    folder = tmp_path_factory.mktemp("rows")
    expected = json.loads(json.dumps(objects).replace("\\u0000", "\\ufffd"))
    lines = "\n".join(json.dumps(one) for one in objects).encode()
    assert [value for _, value in values(rows_of(folder, lines))] == expected
    array = json.dumps(objects, indent=indent, ensure_ascii=False).encode("utf-8", "surrogatepass")
    assert [value for _, value in values(rows_of(folder, array))] == expected


@given(st.binary(max_size=300) | st.text(alphabet='[]{}",:0123ntf\\u \n\r\x00é').map(str.encode))
def test_no_bytes_end_in_an_error(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    """Whatever a file holds, it gives rows and problems."""
    assume(b"\xff\xfe" not in content and b"\xfe\xff" not in content)
    found = rows_of(tmp_path_factory.mktemp("rows"), content)
    assert all(isinstance(one, Row | Problem) for one in found)
