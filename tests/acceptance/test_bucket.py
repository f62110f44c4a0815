"""Services that keep copies of records and objects in a bucket, with separate home folders on one database."""

import io
import json
import shutil
import urllib.request

import pytest
import zstandard

from anubis.store.bucket.connection import Bucket
from anubis.store.bucket.records import BucketRecords
from support.gated import STDOUT, Gated
from support.processes import until
from support.service import Service


@pytest.fixture
def start(tmp_path, bucket_environ):
    """Starts services, each with its home folder, on the database of the first one."""
    started = []

    def started_service(name, *words, **environ):
        database = f"sqlite:///{tmp_path / 'first'}/anubis.db"
        service = Service(
            tmp_path / name, *words, **{"ANUBIS_DATABASE_URL": database, **bucket_environ, **environ}
        )
        (tmp_path / "first").mkdir(mode=0o700, exist_ok=True)
        started.append(service)
        return service.start()

    yield started_service
    for service in started:
        service.stop()


@pytest.fixture
def first(start):
    return start("first")


@pytest.fixture
def gated(anubis, first):
    assert anubis("register", first.url).returncode == 0
    bench = Gated(anubis)
    bench.home = first.home
    yield bench
    bench.close()


def log_of(service, run_id):
    with service.client() as client:
        run = client.runs.get(run_id)
        if not client.records.has(run):
            return None
        return client.records.files(run).read("stdout", 0, 1 << 20)


def is_copied(bucket, run_id):
    found = BucketRecords(bucket).manifest(run_id, 1)
    return found is not None and found.complete


def test_another_service_shows_the_record_while_it_grows_and_when_it_is_complete(
    anubis, start, first, gated, bucket
):
    second = start("second", "--role", "api")
    (run_id,) = anubis("submit", gated.file).stdout.split()
    until(lambda: log_of(second, run_id) == b"first\n", "the other service shows the output so far")
    gated.open_gate()
    assert anubis("watch", run_id).returncode == 0
    until(lambda: is_copied(bucket, run_id), "all of the record is in the bucket")
    archives = []
    for service in (first, second):
        with service.client() as client:
            run = client.runs.get(run_id)
            assert client.records.files(run).read("stdout", 0, 1 << 20) == STDOUT % 0
            assert client.results.samples(run_id, "rate").values.tolist() == [0.5]
            out = io.BytesIO()
            client.records.export(run_id, out)
            archives.append(len(out.getvalue()))
    assert min(archives) > 1000
    assert not (second.home / "records" / run_id).exists()


@pytest.mark.parametrize("moment", ["grows", "final"])
def test_a_service_that_is_killed_while_it_copies_loses_nothing(anubis, first, gated, bucket, moment):
    (run_id,) = anubis("submit", gated.file).stdout.split()
    until(lambda: BucketRecords(bucket).manifest(run_id, 1), "a part is copied")
    if moment == "grows":
        first.kill()
        first.start()
    gated.open_gate()
    assert anubis("watch", run_id).returncode == 0
    if moment == "final":
        first.kill()
        first.start()
    until(lambda: is_copied(bucket, run_id), "all of the record is in the bucket")
    here = first.home / "records" / run_id / "a1/benchmark/0"
    records = BucketRecords(bucket)
    listed = {each.file: each for each in records.list(run_id, 1)}
    for path in here.rglob("*"):
        if path.is_file() and path.suffix != ".part":
            file = path.relative_to(here).as_posix()
            data = path.read_bytes()
            assert records.read(listed[file].key, file, 0, 1 << 20) == data, file


def test_runs_succeed_while_the_bucket_is_away(anubis, first, gated, bucket, bucket_server):
    def state():
        with urllib.request.urlopen(f"{first.url}/readyz") as answer:
            return json.load(answer)

    with bucket_server.away():
        (run_id,) = anubis("submit", gated.file).stdout.split()
        gated.open_gate()
        assert anubis("watch", run_id).returncode == 0
        assert log_of(first, run_id).startswith(b"first")
        until(lambda: state()["bucket"].startswith("degraded"), "the service reports the bucket")
        assert state()["status"] == "ready"
    until(lambda: is_copied(bucket, run_id), "all of the record is in the bucket")
    until(lambda: state()["bucket"] == "ok", "the service reports that the bucket answers")


def test_a_copy_in_the_home_folder_is_removed_after_its_time(anubis, start, bucket_environ, tmp_path):
    service = start("first", ANUBIS_BUCKET_KEEP_S="0")
    assert anubis("register", service.url).returncode == 0
    anubis.write("a.toml", "echo score=1")
    assert anubis("run", "a.toml").returncode == 0
    (row,) = anubis.json("history")
    bucket = Bucket(bucket_environ["ANUBIS_BUCKET"], bucket_environ["ANUBIS_BUCKET_ENDPOINT"])
    until(lambda: is_copied(bucket, row["id"]), "the record is in the bucket")
    bucket.close()
    service.stop()
    service.start()
    until(lambda: not (service.home / "records" / row["id"]).exists(), "the copy here is removed")
    assert anubis("logs").stdout == "score=1\n"
    shown = anubis("show")
    assert shown.returncode == 0, shown.stderr
    shutil.rmtree(service.home / "objects", ignore_errors=True)
    assert anubis("purge", row["id"], "--yes").returncode == 0
    assert anubis.json("history") == []


def test_commands_use_the_bucket(anubis, bucket_environ, bucket, monkeypatch):
    for name, value in bucket_environ.items():
        monkeypatch.setenv(name, value)
    anubis.write("a.toml", "sh a.sh")
    (anubis.folder / "a.sh").write_text("echo score=1")
    ended = anubis("run", "a.toml")
    assert ended.returncode == 0, ended.stderr
    (row,) = anubis.json("history")
    until(lambda: is_copied(bucket, row["id"]), "a worker copies what the command left")
    (check,) = [each for each in anubis.json("doctor")["checks"] if each["name"] == "bucket"]
    assert check["state"] == "ok"
    daily = f"{bucket.address}/daily"
    assert anubis("archive", "write", daily, "--today").returncode == 0
    (manifest,) = anubis.json("archive", "list", daily)
    assert [file["rows"] for file in manifest["files"] if file["table"] == "runs"] == [1]
    assert anubis("archive", "list", "s3://").returncode == 2
    shutil.rmtree(anubis.home / "records" / row["id"])
    assert anubis("logs").stdout == "score=1\n"
    (part,) = [
        each
        for each in bucket.list(f"records/{row['id']}/a1/")
        if b"score=1" in zstandard.decompress(bucket.get(each.key))[:8]
    ]
    content = bucket.get(part.key)
    for damage in (content[:-1], b""):
        bucket.put(part.key, damage)
        damaged = anubis("logs")
        assert damaged.returncode not in (0, 70), damaged
        assert "is damaged" in damaged.stderr
        assert "Traceback" not in damaged.stderr
    bucket.put(part.key, content)
    refused = anubis("record", "path", row["id"])
    assert refused.returncode == 2
    assert "in a bucket" in refused.stderr
    bucket.put("records/01234567-89ab-7000-8000-000000000000/a1.json", b"{}")
    found = anubis.json("gc", "--older-than", "0s")["found"]
    assert [each["kind"] for each in found if each["path"].startswith("s3://")] == ["record"]
    assert is_copied(bucket, row["id"])
