"""Columns of telemetry between two times."""

from array import array
from math import inf, nan

import pytest

from anubis.record.files import FolderFiles
from anubis.record.telemetry import Telemetry, header, row


@pytest.fixture
def telemetry(tmp_path):
    rows = [row(float(at), [value]) for at, value in enumerate((9.0, inf, nan, 3.0, 7.0))]
    (tmp_path / "telemetry").write_bytes(header([("tree_memory", "B")], 1.0) + b"".join(rows))
    return Telemetry(FolderFiles(str(tmp_path)))


def test_the_largest_value_is_of_the_rows_after_the_start_until_the_end(telemetry):
    assert telemetry.columns["tree_memory"][0] == array("f", [9.0])[0]
    assert telemetry.largest("tree_memory", 0.0, 3.0) == 3.0
    assert telemetry.largest("tree_memory", -1.0, 3.0) == 9.0
    assert telemetry.largest("tree_memory", 1.0, 2.0) is None
    assert telemetry.largest("other", 0.0, 9.0) is None
