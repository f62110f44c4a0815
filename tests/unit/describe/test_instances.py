from pathlib import Path

import pytest

from anubis.describe import instances
from anubis.describe.instances import extended, find, shipped
from anubis.model.errors import BadInputError

TABLE = Path(instances.__file__).with_name("instances.csv")
HEADER = "type,cpus,memory_gib,gpus,accelerator\n"


@pytest.mark.parametrize(
    ("name", "gpus"),
    [
        ("p2.16xlarge", 16),
        ("p3.2xlarge", 1),
        ("p3dn.24xlarge", 8),
        ("p4d.24xlarge", 8),
        ("p5.48xlarge", 8),
        ("g3s.xlarge", 1),
        ("g4dn.12xlarge", 4),
        ("g5.xlarge", 1),
        ("g6.48xlarge", 8),
        ("trn1.32xlarge", 16),
        ("inf2.24xlarge", 6),
        ("c5.18xlarge", 0),
        ("ml.p3.8xlarge", 4),
    ],
)
def test_accelerators_of_known_types(name, gpus):
    assert find(name).gpus == gpus


@pytest.mark.parametrize(
    "family",
    [
        "a1",
        "c3",
        "c4",
        "c5",
        "c5d",
        "c5n",
        "d2",
        "f1",
        "g2",
        "g3",
        "g3s",
        "g4dn",
        "h1",
        "i2",
        "i3",
        "i3en",
        "m3",
        "m4",
        "m5",
        "m5a",
        "m5d",
        "p2",
        "p3",
        "p3dn",
        "r3",
        "r4",
        "r5",
        "t2",
        "t3",
        "x1",
        "x1e",
        "z1d",
    ],
)
def test_the_families_of_the_old_table_are_known(family):
    assert any(name.startswith(f"{family}.") for name in shipped())


def test_every_type_is_there_once():
    names = [line.partition(",")[0] for line in TABLE.read_text().splitlines()]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("name", ["", "local", "g99.huge", "ml.", "ml.local"])
def test_an_unknown_type_is_nothing_special(name):
    assert find(name) is None


def test_a_type_has_a_make_exactly_when_it_has_accelerators():
    assert all(bool(instance.accelerator) == (instance.gpus > 0) for instance in shipped().values())
    assert all(instance.cpus > 0 and instance.memory_gib > 0 for instance in shipped().values())


def test_an_operators_file_adds_and_overrules(tmp_path):
    file = tmp_path / "machines.csv"
    file.write_text(HEADER + "rack,64,512,2,NVIDIA L40\nc5.large,4,8,0,\n")
    table = extended(file)
    assert find("rack", table).gpus == 2
    assert find("c5.large", table).cpus == 4
    assert find("c5.xlarge", table) == find("c5.xlarge")


@pytest.mark.parametrize("content", ["a,b\n1,2\n", HEADER + "rack,many,512,2,\n", HEADER + "rack\n"])
def test_a_table_that_cannot_be_read_names_its_line(tmp_path, content):
    file = tmp_path / "machines.csv"
    file.write_text(content)
    with pytest.raises(BadInputError, match="line 2"):
        extended(file)


def test_a_table_that_is_not_there_is_named(tmp_path):
    with pytest.raises(BadInputError, match=r"gone\.csv"):
        extended(tmp_path / "gone.csv")
