"""One contract for every client: datasets and daily data sets as files of this machine, also over connections that break."""

import json

import pytest

from anubis.client import Client, resuming
from anubis.model.errors import BadInputError, NotFoundError, StoreError
from anubis.model.machines.token import WORKER
from anubis.settings import Settings
from anubis.transfer.daily import archive
from support.cutting import Cutting

SIZE = 300_000


@pytest.fixture
def broken(client, kind, settings, tmp_path, monkeypatch):
    """Makes a client whose connections break after these numbers of bytes; the client itself without connections."""
    monkeypatch.setattr(resuming, "PAUSE_S", 0.01)
    opened = []

    def make(*after):
        if kind == "embedded":
            return client
        proxy = Cutting(client._connection.url, *after)
        own = Settings.from_env({"ANUBIS_HOME": str(tmp_path / "own"), "ANUBIS_CLIENT_ID": "me"})
        opened.append((proxy, Client.remote(proxy.url, own)))
        make.proxy = proxy
        return opened[-1][1]

    yield make
    for proxy, other in opened:
        other.close()
        proxy.close()


@pytest.fixture
def dataset(client, bench, tmp_path):
    """A fetched folder with a large and an empty file."""
    folder = tmp_path / "data"
    (folder / "below").mkdir(parents=True)
    (folder / "large").write_bytes(bytes(range(250)) * (SIZE // 250))
    (folder / "below" / "empty").write_bytes(b"")
    file = bench(more=f'[[data.sources]]\nsrc = "file://{folder}"\npath = "{tmp_path}/copy"\n')
    (run,) = client.runs.wait([run.id for run in client.runs.submit([file])])
    assert run.status == "succeeded", run.reason
    return next(each.dataset for each in client.datasets.find() if str(folder) in each.src)


def test_a_dataset_is_copied_over_a_connection_that_breaks(broken, dataset, tmp_path):
    client, target = broken(100_000, 50_000, 200_000), tmp_path / "target"
    client.datasets.export(dataset.digest, target)
    assert (target / "large").read_bytes() == bytes(range(250)) * (SIZE // 250)
    assert (target / "below" / "empty").read_bytes() == b""
    assert [each for each in tmp_path.iterdir() if each.name.startswith(".target")] == []
    if client.is_remote:
        assert broken.proxy.cuts == 3
    with pytest.raises(BadInputError, match="exists already"):
        client.datasets.export(dataset.digest, target)
    with pytest.raises(NotFoundError):
        client.datasets.export("nothing", tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_a_later_command_continues_a_transfer(broken, client, dataset, tmp_path, monkeypatch):
    if not client.is_remote:
        return
    monkeypatch.setattr(resuming, "PATIENCE_S", -1.0)
    target = tmp_path / "target"
    with pytest.raises(StoreError):
        broken(100_000).datasets.export(dataset.digest, target)
    assert not target.exists(), "there is no half dataset"
    (part,) = (each for each in tmp_path.iterdir() if each.name.startswith(".target"))
    (unfinished,) = (each for each in part.iterdir() if each.is_file())
    done = unfinished.stat().st_size
    assert 0 < done < SIZE
    offsets = []
    original = client._connection.pieces
    monkeypatch.setattr(
        client._connection, "pieces", lambda path, params: offsets.append(params) or original(path, params)
    )
    client.datasets.export(dataset.digest, target)
    assert [("offset", str(done))] in offsets
    assert (target / "large").stat().st_size == SIZE
    target.rename(tmp_path / "moved")
    unfinished.parent.mkdir()
    unfinished.write_bytes(b"x" * SIZE)
    with pytest.raises(StoreError, match="SHA-256"):
        client.datasets.export(dataset.digest, target)
    assert not target.exists()


def test_an_archive_of_a_run_is_written_over_a_connection_that_breaks(broken, client, bench, tmp_path):
    (run,) = client.runs.wait([run.id for run in client.runs.submit([bench("seq 1 20000")])])
    whole, target = tmp_path / "whole", tmp_path / "target"
    with whole.open("wb") as out:
        client.records.export(run.id, out)
    with target.open("wb") as out:
        assert broken(10_000, 20_000).records.export(run.id, out).id == run.id
    assert target.read_bytes() == whole.read_bytes()


def test_daily_data_sets_are_written_and_continued(broken, client, embedded, bench, tmp_path):
    pytest.importorskip("pyarrow")
    client.runs.wait([run.id for run in client.runs.submit([bench()])])
    folder = tmp_path / "days"
    (written,) = broken(2_000).storage.archive(folder, today=True)
    assert not written["complete"]
    assert all((folder / each["path"]).stat().st_size == each["size_bytes"] for each in written["files"])
    assert json.loads((folder / written["day"] / "manifest.json").read_text()) == written
    client.runs.wait([run.id for run in client.runs.submit([bench()])])
    (again,) = client.storage.archive(folder, today=True)
    assert [each["path"] for each in again["files"][: len(written["files"])]] == [
        each["path"] for each in written["files"]
    ]
    assert len(again["files"]) > len(written["files"])
    (other,) = embedded.storage.archive(tmp_path / "other", today=True)
    assert _rows(other) == _rows(again), "two parts have the rows of one"


def _rows(manifest):
    counts = {}
    for each in manifest["files"]:
        counts[each["table"]] = counts.get(each["table"], 0) + each["rows"]
    return counts


def test_two_writers_of_one_archive_are_refused(client, tmp_path):
    pytest.importorskip("pyarrow")
    with archive.locked(tmp_path / "days"), pytest.raises(BadInputError, match="another process writes"):
        client.storage.archive(tmp_path / "days")


def test_tokens_of_workers_are_made_and_revoked(client, embedded, kind):
    name = f"worker-{kind}"
    token = client.workers.make_token(name)
    assert token.startswith(WORKER)
    assert client.workers.make_token(name) != token
    assert client.workers.get(name).worker.revoked_s is None
    assert client.workers.revoke(name).worker.revoked_s is not None
    assert client.workers.get(name).worker.revoked_s == embedded.workers.get(name).worker.revoked_s
    with pytest.raises(BadInputError, match="not the name of a worker"):
        client.workers.make_token("no name")
    with pytest.raises(NotFoundError):
        client.workers.revoke("unknown")


def test_a_history_is_imported_over_a_connection_that_loses_the_answer(broken, embedded, tmp_path, kind):
    file = tmp_path / "history.csv"
    file.write_text(f"benchmark,metric,value,time_s\nlost-{kind},m,1,1767225600\n")
    client = broken()
    read = client.histories.read([str(file)])
    if client.is_remote:
        broken.proxy.after.append(0)
    added = client.histories.store(read)
    assert added.runs == (0 if client.is_remote else 1), "the repeated request stores nothing twice"
    assert len(embedded.results.points([run.id for run, _ in read.history.runs])) == 1
