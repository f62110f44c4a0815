"""``environment.json``: written, read, and damaged."""

import pytest

from anubis.record.environment import RecordedEnvironment, content, recorded
from anubis.record.files import FolderFiles


def test_what_was_written_is_read(tmp_path):
    written = RecordedEnvironment({"PATH": "/\udcff"}, {"A": "0f"}, frozenset({"B", "C"}), "key")
    (tmp_path / "environment.json").write_bytes(content(written))
    read = recorded(FolderFiles(str(tmp_path)))
    assert (read.values, read.digests, read.secrets, read.key) == (
        written.values,
        written.digests,
        written.secrets,
        "key",
    )


@pytest.mark.parametrize("text", ["", "[]", "{", "null"])
def test_a_damaged_file_counts_as_missing(tmp_path, text):
    (tmp_path / "environment.json").write_text(text)
    assert recorded(FolderFiles(str(tmp_path))) is None


def test_entries_of_other_types_are_left_out(tmp_path):
    text = '{"values": {"A": 1, "B": "b"}, "digests": [1], "secrets": [1, "C"]}'
    (tmp_path / "environment.json").write_text(text)
    read = recorded(FolderFiles(str(tmp_path)))
    assert (read.values, read.digests, read.secrets, read.key) == ({"B": "b"}, {}, {"C"}, "")


def test_no_file_is_no_environment(tmp_path):
    assert recorded(FolderFiles(str(tmp_path))) is None
