"""After a restart of the machine, what was written before it is read once: a power loss may have taken some of it."""

import hashlib
import os

import pytest

from anubis.contracts.datasets import Dataset
from anubis.datasets import cache_folder, maintenance, trees
from anubis.model.errors import StageError
from anubis.model.server import DataSource
from support.datasets import cache_in, content, fetched
from support.file_server import serving

DATA = bytes(range(256)) * 100
DIGEST = f"sha256:{hashlib.sha256(DATA).hexdigest()}"


@pytest.fixture
def server():
    with serving({"/data": DATA}) as running:
        yield running


@pytest.fixture
def restart(monkeypatch, tmp_path):
    """Start the machine again; returns a cache of a new process."""
    count = [0]

    def start():
        count[0] += 1
        boot = f"boot-{count[0]}"
        for module in (cache_folder, trees):
            monkeypatch.setattr(module, "boot_id", lambda: boot)
        monkeypatch.setattr("anubis.datasets.fetching.boot_id", lambda: boot)
        return cache_in(tmp_path)

    return start


@pytest.fixture
def verified(monkeypatch):
    """The datasets that are read completely."""
    found = []
    verify = maintenance.verify
    monkeypatch.setattr(
        maintenance, "verify", lambda cache, dataset: found.append(dataset.digest) or verify(cache, dataset)
    )
    return found


def is_ready(cache, server, writable):
    """Whether a run needs to wait for nothing."""
    source = DataSource(src=f"{server.url}/data", path="/data", digest=DIGEST)
    return cache._ready(source, writable) is not None and isinstance(
        cache.fetch(source, writable=writable), Dataset
    )


def zeroed(path):
    """The file as a power loss leaves it: its size and time of change were written, its content was not."""
    found = path.stat()
    path.chmod(0o600)
    path.write_bytes(bytes(found.st_size))
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))
    path.chmod(0o444)


@pytest.mark.parametrize("digest", [DIGEST, None])
@pytest.mark.parametrize("writable", [True, False])
def test_content_that_a_power_loss_took_is_fetched_again(restart, server, writable, digest):
    cache = restart()
    dataset = fetched(cache, f"{server.url}/data", writable=writable, digest=digest)
    zeroed(cache._cache.file(dataset.files[0].sha256))
    cache = restart()
    dataset = fetched(cache, f"{server.url}/data", writable=writable, digest=digest)
    assert content(cache, dataset, writable=writable) == {"": DATA}


def test_intact_data_are_read_once_and_not_fetched_again(restart, server, verified):
    fetched(restart(), f"{server.url}/data", digest=DIGEST, writable=False)
    requests = len(server.of("/data"))
    fetched(restart(), f"{server.url}/data", digest=DIGEST, writable=False)
    assert verified == [DIGEST]
    assert is_ready(restart(), server, writable=False)
    assert (verified, len(server.of("/data"))) == ([DIGEST], requests)


def test_without_a_restart_nothing_is_read_again(restart, server, verified, tmp_path):
    fetched(restart(), f"{server.url}/data", digest=DIGEST, writable=False)
    assert is_ready(cache_in(tmp_path), server, writable=False)
    assert verified == []


def test_a_copy_that_a_power_loss_took_is_made_again(restart, server):
    cache = restart()
    dataset = fetched(cache, f"{server.url}/data", digest=DIGEST)
    cache = restart()
    assert cache.folder(dataset.digest, writable=True) is None
    dataset = fetched(cache, f"{server.url}/data", digest=DIGEST)
    assert content(cache, dataset) == {"": DATA}


def test_an_entry_of_an_earlier_version_is_read_once(restart, server, verified):
    cache = restart()
    fetched(cache, f"{server.url}/data", digest=DIGEST, writable=False)
    [entry] = cache._cache.children("index")
    plain = cache_folder.read_json(entry)
    del plain["written_in"]
    cache_folder.write_json(entry, plain)
    fetched(restart(), f"{server.url}/data", digest=DIGEST, writable=False)
    assert verified == [DIGEST]


def test_files_of_a_folder_that_were_fetched_before_a_restart_are_fetched_again(
    restart, tmp_path, monkeypatch
):
    """The process ended before the folder was complete, and a power loss took the content of its first file."""
    folder = tmp_path / "given"
    folder.mkdir()
    for name in ("one", "two"):
        (folder / name).write_bytes(name.encode())
    take, taken = cache_folder.CacheFolder.take, []

    def take_one(cache, path, sha256):
        if taken:
            raise OSError("the process ends here")
        taken.append(sha256)
        take(cache, path, sha256)

    monkeypatch.setattr(cache_folder.CacheFolder, "take", take_one)
    with pytest.raises(StageError):
        fetched(cache := restart(), folder.as_uri())
    monkeypatch.setattr(cache_folder.CacheFolder, "take", take)
    zeroed(cache._cache.file(taken[0]))
    cache = restart()
    assert content(cache, fetched(cache, folder.as_uri())) == {"one": b"one", "two": b"two"}
