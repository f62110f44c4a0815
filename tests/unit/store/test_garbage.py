import os

import pytest

from anubis.model.descriptor import Ml, Script
from anubis.model.ids import new_run_id
from anubis.model.status import Status
from anubis.store import garbage
from anubis.testing import FakeStore, a_descriptor, a_run
from anubis.testing.builders import NOW_S
from anubis.testing.contracts.sweeps import a_sweep

OLD_S, LATER_S = 1_000.0, 2_000.0


@pytest.fixture
def runs():
    return FakeStore().runs


def a_file(path, *, changed_s=OLD_S, folder=False):
    """A file, or a folder with a file in it, that was last changed at this time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if folder:
        path.mkdir()
        (path / "stdout").write_bytes(b"x" * 5000)
    else:
        path.write_bytes(b"x" * 5000)
    os.utime(path, (changed_s, changed_s))
    return path


def found(home, runs, before_s=LATER_S):
    return {each.path: each.kind for each in garbage.find(home, runs, before_s=before_s)}


def test_a_record_without_a_run_is_garbage_and_another_is_not(tmp_path, runs):
    run = a_run()
    runs.add([(run, "text")], [])
    orphan = a_file(tmp_path / "records" / new_run_id(), folder=True)
    a_file(tmp_path / "records" / run.id, folder=True)
    a_file(tmp_path / "records" / "notes", folder=True)
    assert found(tmp_path, runs) == {orphan: "record"}
    assert found(tmp_path, runs, before_s=OLD_S) == {}, "too young"


def test_scripts_belong_to_runs_and_their_copies_to_runs_that_are_not_final(tmp_path, runs):
    keys = {name: f"{name * 64}.tar" for name in "abc"}
    for name, status in (("a", Status.SUCCEEDED), ("b", Status.PLACE)):
        descriptor = a_descriptor(ml=Ml(benchmark_code="true", script=Script(script=keys[name])))
        runs.add([(a_run(descriptor, status=status), "text")], [])
    archives = {name: a_file(tmp_path / "objects" / key) for name, key in keys.items()}
    copies = {
        name: a_file(tmp_path / "process" / "scripts" / key.removesuffix(".tar"), folder=True)
        for name, key in keys.items()
    }
    assert found(tmp_path, runs) == {
        archives["c"]: "script",
        copies["a"]: "script copy",
        copies["c"]: "script copy",
    }


def test_what_was_interrupted_is_garbage(tmp_path, runs):
    upload = a_file(tmp_path / "objects" / ".new-0123")
    incoming = a_file(tmp_path / "incoming" / "tmp1", folder=True)
    assert found(tmp_path, runs) == {upload: "upload", incoming: "import"}


def test_an_empty_home_has_no_garbage(tmp_path, runs):
    assert found(tmp_path / "nowhere", runs) == {}


def test_removing_twice_is_silent(tmp_path, runs):
    a_file(tmp_path / "records" / new_run_id(), folder=True)
    a_file(tmp_path / "objects" / ".new-0123")
    for each in (*garbage.find(tmp_path, runs, before_s=LATER_S),) * 2:
        garbage.remove(each)
        assert not each.path.exists()


def test_a_link_is_removed_and_what_it_points_to_stays(tmp_path, runs):
    target = a_file(tmp_path / "elsewhere", folder=True)
    link = tmp_path / "incoming" / "link"
    link.parent.mkdir()
    link.symlink_to(target)
    os.utime(link, (OLD_S, OLD_S), follow_symlinks=False)
    (each,) = garbage.find(tmp_path, runs, before_s=LATER_S)
    garbage.remove(each)
    assert not link.is_symlink()
    assert (target / "stdout").exists()


def test_only_records_of_runs_that_ended_long_ago_are_packed(tmp_path, runs):
    packed = []

    class Records:
        def pack(self, run_id):
            packed.append(run_id)
            return 17

    old, young, busy = (
        a_run(status=Status.SUCCEEDED, created_s=NOW_S, ended_s=NOW_S + 10),
        a_run(status=Status.SUCCEEDED, created_s=NOW_S, ended_s=NOW_S + 90),
        a_run(created_s=NOW_S),
    )
    runs.add_finished([(old, "text"), (young, "text")], [])
    runs.add([(busy, "text")], [])
    for run in (old, young, busy):
        a_file(tmp_path / "records" / run.id / "a1", folder=True)
    (dry,) = garbage.pack(tmp_path, runs, Records(), before_s=NOW_S + 50, dry_run=True)
    assert (dry.path.name, dry.size_bytes >= 5000, packed) == (old.id, True, [])
    (done,) = garbage.pack(tmp_path, runs, Records(), before_s=NOW_S + 50, dry_run=False)
    assert (done.size_bytes, packed) == (17, [old.id])


def test_a_sweep_that_may_continue_keeps_its_environment_and_its_script(tmp_path, runs):
    script = f"{'a' * 64}.tar"
    sweep = a_sweep(descriptor=a_descriptor(ml=Ml(benchmark_code="x", script=Script(script=script))))
    environment = a_file(tmp_path / "environments" / f"{sweep.id}.json")
    archive = a_file(tmp_path / "objects" / script)
    assert set(found(tmp_path, runs)) == {environment, archive}
    assert list(garbage.find(tmp_path, runs, before_s=LATER_S, sweeps=[sweep])) == []
