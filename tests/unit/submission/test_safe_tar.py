"""Nothing of an archive is created outside the folder, through a link, or twice."""

import io
import os
import tarfile

import pytest

from anubis.submission.safe_tar import extract_member
from anubis.submission.tar_reading import Archive


def tar_of(*members):
    """An archive of (name, type, link target or content, mode)."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, kind, more, mode in members:
            info = tarfile.TarInfo(name)
            info.type, info.mode, info.uid = kind, mode, 12345
            if kind == tarfile.REGTYPE:
                info.size = len(more)
                tar.addfile(info, io.BytesIO(more))
            else:
                info.linkname = more
                tar.addfile(info)
    buffer.seek(0)
    return Archive(buffer)


def unpack(tar, folder):
    folder.mkdir()
    for member in tar:
        extract_member(tar, member, folder)


def test_files_folders_and_links_inside_come_out(tmp_path):
    tar = tar_of(
        ("sub", tarfile.DIRTYPE, "", 0o700),
        ("sub/run.sh", tarfile.REGTYPE, b"run", 0o4777),
        ("/data.txt", tarfile.REGTYPE, b"data", 0o666),
        ("sub/up", tarfile.SYMTYPE, "../data.txt", 0o777),
    )
    unpack(tar, tmp_path / "out")
    assert (tmp_path / "out/sub/up").read_bytes() == b"data"
    assert (tmp_path / "out/sub/run.sh").stat().st_mode & 0o7777 == 0o755
    assert (tmp_path / "out/data.txt").stat().st_mode & 0o7133 == 0
    assert (tmp_path / "out/data.txt").stat().st_uid == os.getuid()


HOSTILE = {
    "a way up": [("../out of it", tarfile.REGTYPE, b"x", 0o644)],
    "a way up inside": [("a/../../out of it", tarfile.REGTYPE, b"x", 0o644)],
    "a link up": [("link", tarfile.SYMTYPE, "../out of it", 0o777)],
    "a link to an absolute path": [("link", tarfile.SYMTYPE, "/etc/passwd", 0o777)],
    "a hard link up": [("link", tarfile.LNKTYPE, "../out of it", 0o777)],
    "a hard link to an absolute path": [("link", tarfile.LNKTYPE, "/etc/passwd", 0o777)],
    "two links that are harmless alone": [
        ("a", tarfile.SYMTYPE, ".", 0o777),
        ("a/b", tarfile.SYMTYPE, "..", 0o777),
        ("a/b/out of it", tarfile.REGTYPE, b"x", 0o644),
    ],
    "a device": [("null", tarfile.CHRTYPE, "", 0o666)],
    "a pipe": [("pipe", tarfile.FIFOTYPE, "", 0o666)],
    "a hard link inside": [("a", tarfile.SYMTYPE, "b", 0o777), ("hard", tarfile.LNKTYPE, "a", 0o755)],
    "the same link twice": [("a", tarfile.SYMTYPE, ".", 0o777), ("a", tarfile.SYMTYPE, ".", 0o777)],
    "a file below a link": [
        ("a", tarfile.SYMTYPE, "b", 0o777),
        ("a/x", tarfile.REGTYPE, b"x", 0o644),
    ],
    "a file that replaces a link": [
        ("a", tarfile.SYMTYPE, "b", 0o777),
        ("a", tarfile.REGTYPE, b"x", 0o644),
    ],
    "a name too long for a path": [("a/" * 1500 + "b", tarfile.REGTYPE, b"x", 0o644)],
    "a contiguous file": [("a", tarfile.CONTTYPE, "", 0o644)],
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_nothing_leaves_the_folder(tmp_path, kind):
    with pytest.raises(tarfile.TarError):
        unpack(tar_of(*HOSTILE[kind]), tmp_path / "out")
    assert list(tmp_path.iterdir()) == [tmp_path / "out"]
    assert not [path for path in (tmp_path / "out").rglob("*") if not path.is_symlink()]
