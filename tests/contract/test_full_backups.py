"""Full backups: every run that is final when one begins is in it with its record, while other processes write."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from io import BytesIO

import pytest

from anubis.client.embedded.driving import replication
from anubis.contracts.records import RecordKey, RoleFiles
from anubis.contracts.runs import RunQuery
from anubis.model.cause import Cause
from anubis.model.errors import BadInputError, StoreError
from anubis.model.run import Step
from anubis.model.status import Status
from anubis.pipeline.conclusion import conclude
from anubis.record.files import reader
from anubis.sealing.sealer import compare
from anubis.settings import Settings
from anubis.store.backups import whole
from anubis.store.backups.copying import SUMS
from anubis.store.bucket.manifest import COPIED
from anubis.testing import a_placement, a_point, a_run, an_event, samples_of
from anubis.wiring import build
from support.processes import until


class Home:
    """An installation, and runs as an agent and a reconciler leave them."""

    def __init__(self, folder, url=None, **more):
        environ = {"ANUBIS_HOME": str(folder), **more} | ({"ANUBIS_DATABASE_URL": url} if url else {})
        self.environ = environ
        self.settings = Settings.from_env(environ)
        self.installation = build(self.settings)

    def finish(self, cause=None):
        """The id of a new final run with a record, sealed in the chain."""
        world, run = self.installation.world, a_run()
        world.runs.add([(run, "text")], [an_event(run, "submitted")])
        self.hold(run)
        key = RecordKey(run.id, run.attempt)
        world.records.append(key, "stdout", 0, run.id.encode() * 50)
        world.records.replace(key, "exit.json", b"{}")
        measured = Step(status=Status.ALERT, points=(a_point(run),), samples=(samples_of([1.0, 2.0, 3.0]),))
        run = world.leases.apply("me", run, measured, now_s=time.time())
        world.leases.apply("me", run, conclude(run, time.time(), cause), now_s=time.time())
        self.installation.sealer.seal([run.id])
        return run.id

    def hold(self, run):
        claimed = self.installation.world.leases.claim("me", now_s=time.time(), lease_s=600, limit=1000)
        assert run.id in {each.id for each in claimed}

    def back_up(self, folder):
        return whole.back_up(self.settings, folder, now_s=time.time())

    def check(self, ids):
        """Assert that these runs are stored as they were measured."""
        world = self.installation.world
        for run_id in ids:
            assert world.runs.get(run_id).status.final
            files = RoleFiles(world.records, RecordKey(run_id, 1))
            with reader(files, "stdout") as stream:
                assert stream.read() == run_id.encode() * 50
            assert [point.value for point in world.points.of([run_id])]
        report = compare(self.installation.sealer)
        assert report.damaged == ()
        assert report.unchanged >= len(ids)

    def ids(self):
        return {row.id for row in self.installation.world.runs.find(RunQuery(limit=10_000))}

    def close(self):
        self.installation.close()


@pytest.fixture
def new_home(tmp_path):
    opened = []

    def make(name, url=None, **more):
        opened.append(Home(tmp_path / name, url, **more))
        return opened[-1]

    yield make
    for each in opened:
        each.close()


@pytest.fixture
def home(new_home, database_url):
    return new_home("home", database_url)


def restored(new_home, folder, name="restored", url=None):
    settings = Settings.from_env(
        {"ANUBIS_HOME": str(folder.parent / name)} | ({"ANUBIS_DATABASE_URL": url} if url else {})
    )
    result = whole.restore(settings, folder, now_s=time.time())
    return result, new_home(name, url)


def test_what_is_restored_is_what_was_backed_up(home, new_home, tmp_path):
    ids = [home.finish() for _ in range(3)]
    home.installation.world.records.pack(ids[0])
    (home.settings.home / "objects").mkdir(exist_ok=True)
    (home.settings.home / "objects" / "a.tar").write_bytes(b"script")
    written = home.back_up(tmp_path / "backup")
    assert (written.runs, written.without_record) == (3, 0)
    result, other = restored(new_home, tmp_path / "backup")
    assert (result.runs, result.ended) == (3, 0)
    other.check(ids)
    assert other.ids() == set(ids)
    assert (other.settings.home / "objects" / "a.tar").read_bytes() == b"script"
    with other.installation.store.database.session() as session:
        assert [row[0] for row in session.ask("PRAGMA journal_mode", {})] == ["wal"]
    events = [(event.seq, event.run_id, event.kind) for event in home.installation.world.events.read()]
    assert [(e.seq, e.run_id, e.kind) for e in other.installation.world.events.read()] == events
    other.finish()


@pytest.mark.postgresql
def test_a_backup_of_sqlite_is_restored_on_postgresql(new_home, postgresql_url, tmp_path):
    home = new_home("home")
    ids = [home.finish() for _ in range(3)]
    home.back_up(tmp_path / "backup")
    _, other = restored(new_home, tmp_path / "backup", url=postgresql_url)
    other.check(ids)
    ids.append(other.finish())
    other.check(ids)
    with pytest.raises(BadInputError, match="has runs already"):
        whole.restore(other.settings, tmp_path / "backup", now_s=time.time())


def test_runs_that_end_and_are_packed_and_purged_meanwhile(home, new_home, tmp_path):
    before = [home.finish() for _ in range(30)]
    stop, after, purged = threading.Event(), [], set(before[20:])

    def write():
        for run_id in before[:10]:
            home.installation.world.records.pack(run_id)
        for run_id in purged:
            home.installation.sealer.note_purged([run_id])
            home.installation.world.runs.remove([run_id])
            home.installation.world.records.remove(run_id)
        while not stop.is_set():
            after.append(home.finish())

    writing = threading.Thread(target=write)
    writing.start()
    try:
        home.back_up(tmp_path / "backup")
    finally:
        stop.set()
        writing.join()
    _, other = restored(new_home, tmp_path / "backup")
    kept = [run_id for run_id in before if run_id not in purged]
    assert set(kept) <= other.ids() <= {*before, *after}
    stored = [run_id for run_id in other.ids() if other.installation.world.runs.get(run_id).status.final]
    for run_id in stored:
        assert other.installation.world.records.attempts(run_id) == [1]
    damaged = {each.run_id for each in compare(other.installation.sealer).damaged}
    assert damaged <= purged, "a run that was purged between two steps of the backup is only missing"


def test_runs_in_progress_end_and_runs_that_wait_remain(home, new_home, tmp_path):
    placed, waiting = a_run(), a_run()
    world = home.installation.world
    world.runs.add([(placed, "text")], [an_event(placed, "submitted")])
    home.hold(placed)
    step = Step(status=Status.WATCH, placement=a_placement(placed))
    world.leases.apply("me", placed, step, now_s=time.time())
    world.runs.add([(waiting, "text")], [an_event(waiting, "submitted")])
    home.back_up(tmp_path / "backup")
    result, other = restored(new_home, tmp_path / "backup")
    assert result.ended == 1
    ended = other.installation.world.runs.get(placed.id)
    assert (ended.status, ended.cause) == (Status.FAILED, Cause.LOST)
    kinds = [event.kind for event in other.installation.world.events.read(placed.id)]
    assert (kinds.count("submitted"), kinds.count("final")) == (1, 1)
    (claimed,) = other.installation.world.leases.claim("you", now_s=time.time(), lease_s=5, limit=9)
    assert claimed.id == waiting.id
    assert world.runs.get(placed.id).status is Status.WATCH, "the original continues"


@pytest.mark.parametrize("damage", ["change", "delete", "incomplete", "outside"])
def test_a_damaged_backup_is_refused_and_nothing_is_written(new_home, tmp_path, damage):
    home = new_home("home")
    run_id = home.finish()
    folder = tmp_path / "backup"
    home.back_up(folder)
    file = folder / "records" / run_id / "a1/benchmark/0/stdout"
    if damage == "change":
        file.write_bytes(b"x" + file.read_bytes()[1:])
    elif damage == "delete":
        file.unlink()
    elif damage == "incomplete":
        (folder / SUMS).unlink()
    else:
        (folder / SUMS).write_text((folder / SUMS).read_text() + f"{'0' * 64}  ../home/anubis.db\n")
    target = Settings.from_env({"ANUBIS_HOME": str(tmp_path / "target")})
    with pytest.raises(BadInputError):
        whole.restore(target, folder, now_s=time.time())
    assert not target.home.exists()


def test_nothing_is_overwritten(new_home, tmp_path):
    home = new_home("home")
    home.finish()
    home.back_up(tmp_path / "backup")
    with pytest.raises(BadInputError, match="exists already"):
        home.back_up(tmp_path / "backup")
    with pytest.raises(BadInputError, match="a database already"):
        whole.restore(home.settings, tmp_path / "backup", now_s=time.time())


CALL = """import sys, time
from pathlib import Path
from anubis.settings import Settings
from anubis.store.backups import whole
import os
settings = Settings.from_env(os.environ)
getattr(whole, sys.argv[1])(settings, Path(sys.argv[2]), now_s=time.time())
"""


def killed(word, folder, environ, moment):
    """Start a backup or a restore in a process and kill it once the condition holds, or let it end."""
    process = subprocess.Popen([sys.executable, "-c", CALL, word, folder], env={**os.environ, **environ})
    until(lambda: moment() or process.poll() is not None, "the moment has come")
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(signal.SIGKILL)
    process.wait()


@pytest.mark.parametrize(
    "names", ["*.part-*", "*.part-*/anubis.db", "*.part-*/records/*", "*.part-*/SHA256SUMS"]
)
def test_a_backup_that_is_killed_leaves_no_backup_or_a_complete_one(home, new_home, tmp_path, names):
    ids = [home.finish() for _ in range(20)]
    folder = tmp_path / "backup"
    killed("back_up", folder, home.environ, lambda: list(tmp_path.glob(names)))
    if not folder.exists():
        home.back_up(folder)
    _, other = restored(new_home, folder)
    other.check(ids)


@pytest.mark.parametrize("names", ["objects", "records/*", "*.restored*", "anubis.db"])
def test_a_restore_that_is_killed_can_be_repeated(new_home, tmp_path, names):
    home, target = new_home("home"), tmp_path / "target"
    ids = [home.finish() for _ in range(20)]
    home.back_up(tmp_path / "backup")
    environ = {"ANUBIS_HOME": str(target)}
    killed("restore", tmp_path / "backup", environ, lambda: list(target.glob(names)))
    if not (target / "anubis.db").exists():
        whole.restore(Settings.from_env(environ), tmp_path / "backup", now_s=time.time())
    new_home("target").check(ids)
    shutil.rmtree(tmp_path / "backup")


def test_a_backup_contains_what_only_the_bucket_has(new_home, tmp_path, bucket_environ, bucket):
    home = new_home("home", **bucket_environ)
    ids = [home.finish() for _ in range(3)]
    home.installation.world.objects.put("a.tar", BytesIO(b"script"))
    assert replication(home.installation, bucket).turn() is None
    for run_id in ids[:2]:
        shutil.rmtree(home.settings.home / "records" / run_id)
    shutil.rmtree(home.settings.home / "objects")
    home.check(ids)
    written = home.back_up(tmp_path / "backup")
    assert (written.runs, written.without_record) == (3, 0)
    _, other = restored(new_home, tmp_path / "backup")
    other.check(ids)
    assert (other.settings.home / "objects" / "a.tar").read_bytes() == b"script"
    with_bucket = new_home("restored", **bucket_environ)
    chore = replication(with_bucket.installation, bucket)
    assert chore.turn() is None
    assert all((with_bucket.settings.home / "records" / run_id / COPIED).exists() for run_id in ids)


def test_a_backup_notices_a_damaged_object(new_home, tmp_path, bucket_environ, bucket):
    home = new_home("home", **bucket_environ)
    run_id = home.finish()
    replication(home.installation, bucket).turn()
    shutil.rmtree(home.settings.home / "records" / run_id)
    part = next(each.key for each in bucket.list(f"records/{run_id}/a1/"))
    bucket.put(part, b"other bytes")
    with pytest.raises(StoreError, match="is damaged"):
        home.back_up(tmp_path / "backup")
    assert not (tmp_path / "backup").exists()
