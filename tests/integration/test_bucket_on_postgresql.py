"""Two services with separate home folders on one PostgreSQL, and one bucket."""

import io

import pytest

from anubis.store.bucket.records import BucketRecords
from support.command import Command
from support.gated import STDOUT, Gated
from support.postgresql import binaries, cluster
from support.processes import until
from support.service import Service


@pytest.fixture
def start(tmp_path, bucket_environ):
    if not (folder := binaries()):
        pytest.skip("PostgreSQL server binaries not installed")
    started = []
    with cluster(folder) as server:

        def started_service(name, *words):
            environ = {"ANUBIS_DATABASE_URL": server.url, **bucket_environ}
            started.append(Service(tmp_path / name, *words, **environ))
            return started[-1].start()

        yield started_service
        for service in started:
            service.stop()


@pytest.fixture
def anubis(tmp_path):
    (tmp_path / "work").mkdir()
    return Command(tmp_path / "client", tmp_path / "work")


def exported(client, run_id):
    out = io.BytesIO()
    client.records.export(run_id, out)
    return out.getvalue()


def test_each_shows_the_runs_of_the_other(anubis, start, bucket):
    first = start("first")
    second = start("second", "--role", "api")
    assert anubis("register", first.url).returncode == 0
    gated = Gated(anubis)
    try:
        gated.home = first.home
        (run_id,) = anubis("submit", gated.file).stdout.split()
        until(gated.starts, "the benchmark began")
        first.kill()
        first.start()
        gated.open_gate()
        assert anubis("watch", run_id).returncode == 0
        until(
            lambda: (found := BucketRecords(bucket).manifest(run_id, 1)) and found.complete,
            "all of the record is in the bucket",
        )
        with second.client() as client:
            run = client.runs.get(run_id)
            assert client.records.files(run).read("stdout", 0, 1 << 20) == STDOUT % 0
            assert client.results.samples(run_id, "rate").values.tolist() == [0.5]
            assert len(exported(client, run_id)) > 1000
        assert not (second.home / "records" / run_id).exists()
    finally:
        gated.close()
