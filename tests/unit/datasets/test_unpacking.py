"""Archives: their files are the dataset; nothing they name can leave the folder or fill the disk."""

import bz2
import gzip
import hashlib
import io
import lzma
import stat
import tarfile
import zipfile
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anubis.datasets import unpacking
from anubis.model.cause import Cause
from anubis.model.errors import StageError
from support.datasets import cache_in, content, fetched

FILES = {"top.txt": b"top", "a/b/deep.bin": bytes(range(256)) * 100, "a/empty": b""}


def a_tar(*members, files=FILES, **options):
    """A tar with these files, and further members: (name, type, target or content)."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", **options) as archive:
        rows = [(name, tarfile.REGTYPE, data) for name, data in files.items()]
        for name, kind, more in [*rows, *members]:
            info = tarfile.TarInfo(name)
            info.type = kind
            data = more if isinstance(more, bytes) else b""
            info.size = len(data)
            info.linkname = more if isinstance(more, str) else ""
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def a_zip(*members, files=FILES):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
        for name, mode, data in members:
            info = zipfile.ZipInfo(name)
            info.external_attr = mode << 16
            archive.writestr(info, data)
    return buffer.getvalue()


def unpacked(tmp_path, archive, **changes):
    path = tmp_path / "archive"
    path.write_bytes(archive)
    cache = cache_in(tmp_path, **changes)
    return cache, fetched(
        cache, path.as_uri(), unpack=True, digest=f"sha256:{hashlib.sha256(archive).hexdigest()}"
    )


def refusal(tmp_path, archive, **changes):
    with pytest.raises(StageError) as raised:
        unpacked(tmp_path, archive, **changes)
    return raised.value


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lzma.compress])
@pytest.mark.parametrize("kind", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT, tarfile.USTAR_FORMAT])
def test_a_tar(tmp_path, pack, kind):
    cache, dataset = unpacked(tmp_path, pack(a_tar(format=kind)))
    assert content(cache, dataset) == FILES


def test_a_zip(tmp_path):
    cache, dataset = unpacked(tmp_path, a_zip(("folder/", stat.S_IFDIR | 0o755, b"")))
    assert content(cache, dataset) == FILES


def test_a_second_run_extracts_nothing(tmp_path, monkeypatch):
    cache, dataset = unpacked(tmp_path, a_tar())
    monkeypatch.setattr("anubis.datasets.fetching.unpack", None)
    digest = f"sha256:{hashlib.sha256(a_tar()).hexdigest()}"
    assert fetched(cache, "file:///gone", unpack=True, digest=digest) == dataset


def test_links_to_files_of_the_archive_are_files(tmp_path):
    hard = ("a/hard", tarfile.LNKTYPE, "top.txt")
    soft = ("a/b/soft", tarfile.SYMTYPE, "../../top.txt")
    cache, dataset = unpacked(tmp_path, a_tar(hard, soft))
    assert content(cache, dataset) == {**FILES, "a/hard": b"top", "a/b/soft": b"top"}


@pytest.mark.parametrize(
    ("member", "problem"),
    [
        (("../out", tarfile.REGTYPE, b"x"), "not that of a file in a folder"),
        (("a/../../out", tarfile.REGTYPE, b"x"), "not that of a file in a folder"),
        (("/etc/out", tarfile.REGTYPE, b"x"), "not that of a file in a folder"),
        (("new\nline", tarfile.REGTYPE, b"x"), "not that of a file in a folder"),
        (("link", tarfile.SYMTYPE, "/etc/passwd"), "not that of a file in a folder"),
        (("link", tarfile.SYMTYPE, "../../etc/passwd"), "not that of a file in a folder"),
        (("link", tarfile.LNKTYPE, "missing"), "no earlier file"),
        (("device", tarfile.CHRTYPE, ""), "not a regular file"),
        (("pipe", tarfile.FIFOTYPE, ""), "not a regular file"),
        (("top.txt", tarfile.REGTYPE, b"x"), "twice"),
        (("./top.txt", tarfile.REGTYPE, b"x"), "twice"),
        (("top.txt/x", tarfile.REGTYPE, b"x"), "named as the folder"),
        (("a", tarfile.REGTYPE, b"x"), "named as a folder"),
    ],
)
def test_a_hostile_member_is_refused(tmp_path, member, problem):
    error = refusal(tmp_path, a_tar(member))
    assert error.cause is Cause.DATA_ARCHIVE
    assert problem in str(error)
    assert not (tmp_path.parent / "out").exists()


@pytest.mark.parametrize(
    "archive",
    [
        a_zip(("../out", stat.S_IFREG, b"x")),
        a_zip(("link", stat.S_IFLNK | 0o777, b"/etc/passwd")),
        a_zip()[:-30],
        a_tar()[:1000],
        gzip.compress(a_tar(), mtime=0)[:-20],
        gzip.compress(b"a single file", mtime=0),
        b"no archive",
        b"",
        a_tar(files={}),
    ],
)
def test_what_is_no_archive_or_damaged_is_refused(tmp_path, archive):
    assert refusal(tmp_path, archive).cause is Cause.DATA_ARCHIVE


def test_a_header_of_any_size_is_not_read_into_memory(tmp_path):
    info = tarfile.TarInfo("x")
    info.type, info.size = tarfile.XHDTYPE, 1 << 40
    assert refusal(tmp_path, info.tobuf() + bytes(1 << 16)).cause is Cause.DATA_ARCHIVE


def test_an_archive_that_expands_beyond_the_disk(tmp_path, monkeypatch):
    calls = []

    def space(cache, needed, settings):
        calls.append(needed)
        if len(calls) > 20:
            raise StageError("full", cause=Cause.DISK_FULL)

    monkeypatch.setattr(unpacking, "check_space", space)
    archive = gzip.compress(a_tar(files={"bomb": bytes(200 << 20)}))
    assert refusal(tmp_path, archive).cause is Cause.DISK_FULL
    assert not any((tmp_path / "data/files").glob(f"*/{hashlib.sha256(bytes(200 << 20)).hexdigest()}"))


@settings(max_examples=25, deadline=None)
@given(at=st.integers(0, 4000), byte=st.integers(0, 255))
def test_a_damaged_byte_never_writes_outside(tmp_path_factory, at, byte):
    folder = tmp_path_factory.mktemp("one")
    archive = bytearray(a_tar(("a/soft", tarfile.SYMTYPE, "../top.txt")))
    archive[at] = byte
    with suppress(StageError):
        content(*unpacked(folder, bytes(archive)))
    assert {path.name for path in folder.iterdir()} == {"archive", "data"}
