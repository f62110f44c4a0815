"""The cache against a real server with faults: each has one cause, and is repeated only where that helps."""

import hashlib
import os
import random
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anubis.contracts.datasets import Dataset, FetchProgress
from anubis.contracts.source import RemoteFile
from anubis.datasets import cached, transfer_control
from anubis.datasets.cached import CachedDatasets
from anubis.model.cause import Cause
from anubis.model.errors import PlugInError, StageError
from anubis.model.server import DataSource
from anubis.sources.file import FileSource
from anubis.sources.web import MOST_REDIRECTS
from support.datasets import cache_in, content, fetched, settings_in
from support.file_server import Answer, Drip, Slow, Truncated, serving

SMALL = random.Random(1).randbytes(200_000)
LARGE = random.Random(2).randbytes(20 << 20)


def sha256(data):
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def md5(data):
    return f"md5:{hashlib.md5(data).hexdigest()}"


@pytest.fixture
def server():
    with serving({"/small": SMALL, "/large": LARGE, "/empty": b""}) as running:
        yield running


@pytest.fixture
def cache(tmp_path):
    return cache_in(tmp_path)


def failure(cache, src, **more):
    with pytest.raises(StageError) as raised:
        fetched(cache, src, **more)
    assert raised.value.remedy
    return raised.value


def at_content(fault, *, times=1000):
    """The fault for the first so many requests for content."""
    left = [times]

    def answer(request):
        if request.is_first_byte or not left[0]:
            return None
        left[0] -= 1
        return fault

    return answer


@pytest.mark.parametrize(("path", "data"), [("/small", SMALL), ("/large", LARGE), ("/empty", b"")])
@pytest.mark.parametrize("digest", [sha256, md5, lambda data: None])
def test_what_is_fetched_is_what_the_server_has(cache, server, path, data, digest):
    dataset = fetched(cache, server.url + path, digest=digest(data))
    assert dataset.digest == sha256(data)
    assert content(cache, dataset) == {"": data}


def test_a_large_file_is_fetched_in_parts_at_the_same_time(cache, server):
    fetched(cache, server.url + "/large")
    assert len(server.of("/large")) == 20
    assert sorted(request.start for request in server.of("/large")) == [i << 20 for i in range(20)]


@pytest.mark.parametrize("path", ["/small", "/large"])
def test_a_server_without_ranges_and_versions(cache, server, path):
    server.ranges = server.etags = False
    assert content(cache, fetched(cache, server.url + path)) == {"": server.files[path]}


def test_a_declared_digest_needs_no_network_a_second_time(cache, server):
    for _ in range(2):
        fetched(cache, server.url + "/small", digest=sha256(SMALL))
    assert len(server.requests) == 2


def test_the_same_digest_at_another_address_is_not_fetched_again(cache, server):
    fetched(cache, server.url + "/small", digest=sha256(SMALL))
    fetched(cache, "http://192.0.2.1/never", digest=sha256(SMALL))
    assert len(server.requests) == 2


def test_data_without_a_digest_are_fetched_again_when_they_changed(cache, server):
    fetched(cache, server.url + "/small")
    fetched(cache, server.url + "/small")
    assert len(server.of("/small")) == 1
    server.files["/small"] = b"new"
    assert content(cache, fetched(cache, server.url + "/small")) == {"": b"new"}


@pytest.mark.parametrize("path", ["/small", "/large"])
def test_a_wrong_digest_is_final(cache, server, path):
    error = failure(cache, server.url + path, digest=sha256(b"other"))
    assert error.cause is Cause.DATA_DIGEST
    assert sha256(server.files[path]) in str(error)
    assert len({request.start for request in server.of(path)}) == len(server.of(path))


@pytest.mark.parametrize(
    ("status", "cause"),
    [
        (401, Cause.DATA_FORBIDDEN),
        (403, Cause.DATA_FORBIDDEN),
        (404, Cause.DATA_NOT_FOUND),
        (410, Cause.DATA_NOT_FOUND),
        (400, Cause.DATA),
    ],
)
def test_a_refusal_is_final(cache, server, status, cause):
    server.fault = lambda request: Answer(status)
    error = failure(cache, f"{server.url}/small?token=secret")
    assert (error.cause, len(server.requests)) == (cause, 1)
    assert "secret" not in str(error)


@pytest.mark.parametrize("status", [500, 503, 429])
def test_a_server_that_fails_for_a_while(cache, server, status):
    server.fault = at_content(Answer(status, {"Retry-After": "0"}), times=2)
    assert content(cache, fetched(cache, server.url + "/small")) == {"": SMALL}
    server.fault = lambda request: Answer(status)
    server.requests.clear()
    error = failure(cache, server.url + "/other")
    assert (error.cause, len(server.requests)) == (Cause.DATA_UNAVAILABLE, 3)


def test_no_server(cache):
    assert failure(cache, "http://127.0.0.1:9/x").cause is Cause.DATA_UNAVAILABLE
    assert failure(cache, "http://host.invalid/x").cause is Cause.DATA_UNAVAILABLE


@pytest.mark.parametrize("path", ["/small", "/large"])
def test_a_truncated_body_is_continued(cache, server, path):
    server.fault = at_content(Truncated(100_000), times=2)
    assert content(cache, fetched(cache, server.url + path)) == {"": server.files[path]}
    assert 100_000 in [request.start % (1 << 20) for request in server.of(path)]


def test_a_truncated_body_starts_again_without_ranges(cache, server):
    server.ranges = False
    server.fault = at_content(Truncated(100_000), times=2)
    assert content(cache, fetched(cache, server.url + "/small")) == {"": SMALL}


@pytest.mark.parametrize("path", ["/small", "/large"])
def test_a_body_that_is_always_truncated(cache, server, path):
    server.fault = at_content(Truncated(10))
    assert failure(cache, server.url + path).cause is Cause.DATA_TRUNCATED


def test_redirects_are_followed_and_circles_are_not(cache, server):
    targets = {"/one": "/two", "/two": f"{server.url}/small", "/a": "/b", "/b": "/a"}
    server.fault = lambda request: (
        Answer(302, {"Location": targets[request.path]}) if request.path in targets else None
    )
    assert content(cache, fetched(cache, server.url + "/one")) == {"": SMALL}
    assert failure(cache, server.url + "/a").cause is Cause.DATA_REDIRECTS
    server.fault = lambda request: Answer(302, {"Location": f"{request.path}x"})
    assert failure(cache, server.url + "/c").cause is Cause.DATA_REDIRECTS


def test_a_slow_drip_is_given_up(tmp_path, server):
    cache = cache_in(tmp_path, patience_s=0.2, attempts=2)
    server.fault = at_content(Drip(0.02))
    assert failure(cache, server.url + "/small").cause is Cause.DATA_SLOW


def test_a_server_that_stops_in_the_middle_is_asked_again(tmp_path, server):
    cache = cache_in(tmp_path, patience_s=0.2)
    server.fault = at_content(Slow(after=1000), times=1)
    assert content(cache, fetched(cache, server.url + "/small")) == {"": SMALL}
    server.fault = at_content(Slow(after=0))
    assert failure(cache, server.url + "/large").cause is Cause.DATA_UNAVAILABLE


def test_no_space_is_noticed_before_anything_is_fetched(tmp_path, server):
    cache = cache_in(tmp_path, min_free_bytes=1 << 60)
    assert failure(cache, server.url + "/small").cause is Cause.DISK_FULL
    assert server.of("/small") == []


def test_a_disk_that_becomes_full(cache, server, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("anubis.datasets.partial_file.PartialFile.write", full)
    assert failure(cache, server.url + "/large").cause is Cause.DISK_FULL


def test_a_disk_that_takes_a_part_of_each_write(cache, server, monkeypatch):
    write = os.write
    monkeypatch.setattr("os.write", lambda file, data: write(file, data[:1000]))
    assert content(cache, fetched(cache, server.url + "/small")) == {"": SMALL}


@pytest.mark.parametrize("path", ["/small", "/large"])
def test_a_file_that_changes_while_it_is_fetched(cache, server, path):
    before = server.files[path]

    def change(request):
        if not request.is_first_byte:
            server.fault = lambda request: None
            server.files[path] = before[::-1]

    server.fault = change
    assert content(cache, fetched(cache, server.url + path)) == {"": before[::-1]}


def test_a_file_that_never_stops_changing(cache, server):
    def change(request):
        server.files["/large"] = os.urandom(8) + LARGE[8:]

    server.fault = change
    assert failure(cache, server.url + "/large").cause is Cause.DATA_CHANGED


def test_two_processes_share_one_download(tmp_path, server):
    caches = [cache_in(tmp_path) for _ in range(2)]
    server.fault = at_content(Slow(after=10), times=1)
    source = DataSource(src=server.url + "/small", path="/data", digest=sha256(SMALL))
    assert isinstance(caches[0].fetch(source, writable=True), FetchProgress)
    assert server.stopped.wait(30)
    assert isinstance(caches[1].fetch(source, writable=True), FetchProgress)
    [waiting] = caches[1].find()
    assert waiting.dataset is None
    server.released.set()
    assert {fetched(cache, source.src, digest=source.digest).digest for cache in caches} == {sha256(SMALL)}
    assert len(server.of("/small")) == 1


def test_what_no_run_asks_for_is_given_up_and_resumed(cache, server, monkeypatch):
    monkeypatch.setattr(transfer_control, "ABANDONED_S", -1.0)
    monkeypatch.setattr(transfer_control, "REPORT_S", 0.0)
    source = DataSource(src=server.url + "/large", path="/data")
    cache.fetch(source, writable=True)
    for active in cache._active.values():
        assert active.ended.wait(60)
    assert cache.fetch(source, writable=True) == FetchProgress()
    monkeypatch.setattr(transfer_control, "ABANDONED_S", 60.0)
    assert isinstance(fetched(cache, source.src), Dataset)


def test_a_corrupt_part_of_an_earlier_process_is_fetched_again(cache, server, tmp_path):
    server.fault = lambda request: Answer(404) if request.start >= 10 << 20 else None
    assert failure(cache, server.url + "/large", digest=sha256(LARGE)).cause is Cause.DATA_NOT_FOUND
    [part] = (tmp_path / "data").glob("parts/*/*.part")
    with part.open("r+b") as file:
        file.write(b"corrupt")
    server.fault = lambda request: None
    assert content(cache, fetched(cache, server.url + "/large", digest=sha256(LARGE))) == {"": LARGE}


def test_a_source_that_is_not_installed(cache):
    with pytest.raises(PlugInError, match="no installed source reads gopher"):
        fetched(cache, "gopher://x/y")


def test_a_folder_is_fetched_again_only_where_it_changed(cache, tmp_path, monkeypatch):
    folder = tmp_path / "given"
    folder.mkdir()
    for name in "abc":
        (folder / name).write_text(name)
    first = fetched(cache, folder.as_uri())
    (folder / "b").write_text("changed")
    (folder / "c").unlink()
    opened = []
    source = cache._sources["file"]
    monkeypatch.setattr(
        source, "open", lambda file, *more: opened.append(file.path) or type(source).open(source, file, *more)
    )
    second = fetched(cache, folder.as_uri())
    assert opened == ["b"]
    assert content(cache, second) == {"a": b"a", "b": b"changed"}
    assert content(cache, first) == {"a": b"a", "b": b"b", "c": b"c"}


@pytest.mark.parametrize("more", [{"digest": md5(b"")}, {"unpack": True}])
def test_a_folder_has_neither_an_md5_nor_an_archive(cache, tmp_path, more):
    (tmp_path / "given").mkdir()
    (tmp_path / "given/a").write_text("a")
    assert failure(cache, (tmp_path / "given").as_uri(), **more).cause is Cause.DATA


def test_a_folder_can_have_its_own_digest(cache, tmp_path):
    (tmp_path / "given").mkdir()
    (tmp_path / "given/a").write_text("a")
    digest = fetched(cache, (tmp_path / "given").as_uri()).digest
    fetched(cache, (tmp_path / "given").as_uri(), digest=digest)
    assert failure(cache, (tmp_path / "given").as_uri(), digest=sha256(b"")).cause is Cause.DATA_DIGEST


@pytest.mark.parametrize("writable", [True, False])
def test_a_damaged_tree_is_built_again(cache, server, writable):
    dataset = fetched(cache, server.url + "/small", digest=sha256(SMALL), writable=writable)
    tree = cache.folder(dataset.digest, writable=writable)
    tree.unlink()
    assert cache.folder(dataset.digest, writable=writable) is None
    assert fetched(cache, server.url + "/small", digest=sha256(SMALL), writable=writable) == dataset
    assert content(cache, dataset, writable=writable) == {"": SMALL}


def test_links_share_the_content_and_copies_do_not(cache, server):
    dataset = fetched(cache, server.url + "/small", writable=False)
    fetched(cache, server.url + "/small", writable=True)
    stored = cache._cache.file(dataset.files[0].sha256)
    assert cache.folder(dataset.digest, writable=False).samefile(stored)
    assert not cache.folder(dataset.digest, writable=True).samefile(stored)


def test_many_datasets_are_fetched_at_the_same_time(cache, server, monkeypatch):
    monkeypatch.setattr(cached, "_QUICK_S", 0.0)
    for number in range(12):
        server.files[f"/{number}"] = bytes([number]) * 1000
    found = []
    threads = [
        threading.Thread(target=lambda n=number: found.append(fetched(cache, f"{server.url}/{n}").digest))
        for number in range(12)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(found) == {sha256(bytes([number]) * 1000) for number in range(12)}


@settings(max_examples=15, deadline=None)
@given(
    size=st.integers(0, 18 << 20),
    faults=st.lists(st.sampled_from([Truncated(0), Truncated(70_000), Answer(503)]), max_size=2),
    ranges=st.booleans(),
)
def test_faults_that_pass_never_change_the_content(tmp_path_factory, size, faults, ranges):
    data = random.Random(size).randbytes(size)
    with serving({"/data": data}) as server:
        server.ranges = ranges
        server.fault = lambda request: faults.pop() if faults else None
        cache = cache_in(tmp_path_factory.mktemp("cache"))
        assert content(cache, fetched(cache, server.url + "/data")) == {"": data}


def test_a_folder_is_fetched_with_all_its_files(cache, tmp_path):
    folder = tmp_path / "files"
    (folder / "in").mkdir(parents=True)
    (folder / "a").write_bytes(SMALL)
    (folder / "in" / "b").write_bytes(b"b")
    assert content(cache, fetched(cache, folder.as_uri())) == {"a": SMALL, "in/b": b"b"}


def test_a_file_name_with_a_line_end_is_refused(cache, tmp_path):
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "a\nb").write_bytes(b"x")
    error = failure(cache, folder.as_uri())
    assert error.cause is Cause.DATA
    assert "'a\\nb'" in error.message


@pytest.mark.parametrize("path", ["../a", "in/./a", "in//a", "a\0b"])
def test_a_server_cannot_name_files_outside_of_the_dataset(tmp_path, path):
    class Listing(FileSource):
        def find(self, url, version=""):
            return (RemoteFile(url=url, path=path, size_bytes=1),)

    cache = CachedDatasets(settings_in(tmp_path), {"file": Listing()})
    error = failure(cache, "file:///any")
    assert error.cause is Cause.DATA
    assert repr(path) in error.message


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_every_kind_of_redirect_is_followed(cache, server, status):
    server.fault = lambda request: (
        Answer(status, {"Location": "/small"}) if request.path == "/moved" else None
    )
    assert content(cache, fetched(cache, server.url + "/moved")) == {"": SMALL}


@pytest.mark.parametrize("more", [0, 1])
def test_a_chain_of_redirects_has_a_longest_length(cache, server, more):
    def answer(request):
        left = request.path.removeprefix("/left-")
        if left == request.path:
            return None
        return Answer(302, {"Location": "/small" if left == "1" else f"/left-{int(left) - 1}"})

    server.fault = answer
    url = f"{server.url}/left-{MOST_REDIRECTS + more}"
    if more:
        assert failure(cache, url).cause is Cause.DATA_REDIRECTS
    else:
        assert content(cache, fetched(cache, url)) == {"": SMALL}
