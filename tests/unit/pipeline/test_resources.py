"""CPUs and GPUs that one run has for itself."""

import os

import pytest

from anubis.model.errors import NoCapacityError
from anubis.pipeline.host import resources
from anubis.pipeline.host.lock_files import LockFiles


@pytest.fixture
def take(tmp_path):
    """Takes resources; the caller gets their names and what is reserved, which a test closes as an agent does that ends."""

    def taking(names, count, kind="gpu"):
        reserved = resources.Reserved(files=LockFiles(tmp_path), record="/record")
        try:
            return reserved.take(kind, names, count), reserved
        except NoCapacityError:
            reserved.close()
            raise

    return taking


def test_two_runs_never_have_the_same_resource(take):
    first, reserved = take(["a", "b", "c"], 2)
    second, _ = take(["a", "b", "c"], 1)
    assert (first, second) == (["a", "b"], ["c"])
    reserved.close()
    assert take(["a", "b", "c"], 2)[0] == ["a", "b"]


def test_too_few_are_refused_and_the_others_stay_free(take):
    take(["a"], 1)
    with pytest.raises(NoCapacityError, match="2 GPUs are requested, 1 are free"):
        take(["a", "b"], 2)
    assert take(["a", "b"], 1)[0] == ["b"]


def test_kinds_are_separate_and_names_are_made_safe(take, tmp_path):
    take(["MIG-1/2"], 1)
    take(["MIG-1/2"], 1, kind="cpu")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cpu-MIG-1_2.lock", "gpu-MIG-1_2.lock"]


def test_the_driver_lists_the_gpus(tmp_path):
    for bus, uuid in (("0000:41:00.0", "GPU-0b"), ("0000:01:00.0", "GPU-0a"), ("0000:02:00.0", "N/A")):
        (tmp_path / bus).mkdir()
        (tmp_path / bus / "information").write_text(f"Model: \t NVIDIA H200\nGPU UUID: \t {uuid}\n")
    assert resources.gpus(tmp_path) == ["GPU-0a", "GPU-0b"]
    assert resources.gpus(tmp_path / "none") == []


def test_the_cpus_are_those_of_this_process():
    assert resources.cpus() == [str(number) for number in sorted(os.sched_getaffinity(0))]
