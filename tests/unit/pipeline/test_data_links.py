"""Datasets at their paths: one run at a time decides what is there, and nothing of others is replaced."""

import os

import pytest

from anubis.model.cause import Cause
from anubis.model.errors import NoCapacityError, StageError
from anubis.model.launch import Mount
from anubis.pipeline.host import data_links


@pytest.fixture
def trees(tmp_path):
    for name in ("one", "two"):
        (tmp_path / "trees" / name).mkdir(parents=True)
    return tmp_path / "trees"


@pytest.fixture
def put(tmp_path):
    """Puts a tree at a path; the locks are closed at the end."""
    every = []

    def put(tree, target):
        locks = []
        every.append(locks)
        data_links.put([Mount(target=str(target), source=str(tree))], tmp_path, locks)
        return locks

    yield put
    for lock in [lock for locks in every for lock in locks]:
        os.close(lock)


def test_runs_with_the_same_data_share_a_path(put, trees, tmp_path):
    target = tmp_path / "some/where"
    put(trees / "one", target)
    put(trees / "one", target)
    assert target.readlink() == trees / "one"


def test_a_run_with_other_data_waits_for_the_path(put, trees, tmp_path):
    target = tmp_path / "data"
    locks = put(trees / "one", target)
    with pytest.raises(NoCapacityError, match="another run reads other data"):
        put(trees / "two", target)
    os.close(locks.pop())
    put(trees / "two", target)
    assert target.readlink() == trees / "two"


def test_a_link_to_what_was_pruned_is_replaced(put, trees, tmp_path):
    target = tmp_path / "data"
    os.close(put(trees / "one", target).pop())
    (trees / "one").rmdir()
    put(trees / "two", target)
    assert target.readlink() == trees / "two"


@pytest.mark.parametrize(
    "make",
    [lambda path: path.write_text("x"), lambda path: path.mkdir(), lambda path: path.symlink_to("/etc")],
)
def test_what_anubis_did_not_create_remains(put, trees, tmp_path, make):
    target = tmp_path / "data"
    make(target)
    with pytest.raises(StageError, match=r"which (Anubis|this home folder) did not create") as raised:
        put(trees / "one", target)
    assert raised.value.cause is Cause.DATA
    assert target.exists()


def test_a_path_that_cannot_be_created(put, trees, tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(StageError, match="cannot be put at") as raised:
        put(trees / "one", tmp_path / "file/data")
    assert raised.value.remedy
