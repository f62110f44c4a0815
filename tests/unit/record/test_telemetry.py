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


def test_the_mean_of_a_sum_over_gpus_is_known_throughout_or_not_at_all(tmp_path):
    columns = [("gpu0_power", "W"), ("gpu1_power", "W"), ("gpu0_util", "ratio")]
    rows = [row(float(at), [100.0 + at, 50.0, 1.0]) for at in range(4)] + [row(4.0, [nan, 50.0, 1.0])]
    (tmp_path / "telemetry").write_bytes(header(columns, 1.0) + b"".join(rows))
    telemetry = Telemetry(FolderFiles(str(tmp_path)))
    assert telemetry.mean_sum("power", -1.0, 3.0) == 151.5
    assert telemetry.mean_sum("power", -1.0, 4.0) is None
    assert telemetry.mean_sum("power", 0.5, 1.5) is None, "one row is no mean"
    assert telemetry.mean_sum("fan", -1.0, 3.0) is None
