"""What a tokenizer said, in the run folder."""

from pathlib import Path

import pytest

from loadgen.errors import RunFolderError
from loadgen.records.run_folder import RunWriter
from loadgen.records.sizes import Sizes, read_sizes


def test_sizes_are_read_as_they_were_written(tmp_path: Path) -> None:
    """By the workload's name; a run that asked no tokenizer has none."""
    sizes = {"small": Sizes(chars_per_token=3.5, message_tokens=5, prompt_tokens=-1, counts={"a": 3}, cuts={"a:2": 9})}
    for name, written in (("one", sizes), ("none", {})):
        writer = RunWriter(tmp_path / name)
        writer.sizes(written)
        writer.close()
        assert read_sizes(tmp_path / name) == written
    assert not (tmp_path / "none" / "sizes.json").exists()


def test_damaged_sizes_are_told(tmp_path: Path) -> None:
    """With the file's name."""
    (tmp_path / "sizes.json").write_text('{"small": {')
    with pytest.raises(RunFolderError, match=r"sizes\.json is damaged"):
        read_sizes(tmp_path)
