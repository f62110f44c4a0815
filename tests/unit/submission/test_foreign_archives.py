"""Archives that other programs wrote, as old clients send them."""

import hashlib
import io
import subprocess
import tarfile

import pytest

from anubis.model.errors import BadInputError
from anubis.submission.script_archive import archive, extract, repacked


def packed(content):
    out = io.BytesIO()
    return repacked(io.BytesIO(content), out), out.getvalue()


@pytest.fixture
def folder(tmp_path):
    src = tmp_path / "src"
    (src / ("d" * 90) / ("e" * 90)).mkdir(parents=True)
    (src / ("d" * 90) / ("e" * 90) / "deep").write_text("deep")
    (src / "run.sh").write_text("#!/bin/sh\n")
    (src / "run.sh").chmod(0o755)
    (src / "link").symlink_to("run.sh")
    return src


@pytest.mark.parametrize("form", ["gnu", "pax", "ustar", "v7"])
def test_what_tar_writes_is_accepted(folder, tmp_path, form):
    long = form in {"gnu", "pax"}
    names = ["src"] if long else ["src/run.sh", "src/link"]
    content = subprocess.run(
        ["tar", "-C", tmp_path, f"--format={form}", "-cf", "-", *names], capture_output=True, check=True
    ).stdout
    key, ours = packed(content)
    assert key == f"{hashlib.sha256(ours).hexdigest()}.tar"
    extract(io.BytesIO(ours), tmp_path / "out")
    assert (tmp_path / "out/src/run.sh").stat().st_mode & 0o100
    assert (tmp_path / "out/src/link").readlink().name == "run.sh"
    assert not long or (tmp_path / "out/src" / ("d" * 90) / ("e" * 90) / "deep").read_text() == "deep"


def test_times_and_owners_do_not_change_the_key():
    def written(mtime, uid):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w") as tar:
            info = tarfile.TarInfo("a")
            info.size, info.mtime, info.uid, info.uname = 1, mtime, uid, f"user{uid}"
            tar.addfile(info, io.BytesIO(b"x"))
        return out.getvalue()

    assert written(1.5, 1) != written(2.5, 2)
    assert packed(written(1.5, 1)) == packed(written(2.5, 2))


def test_an_archive_of_anubis_stays_as_it_is(folder):
    (folder / "link").unlink()
    key, content = archive(folder)
    assert packed(content)[0] == key


@pytest.mark.parametrize("kind", [tarfile.CHRTYPE, tarfile.FIFOTYPE, tarfile.LNKTYPE, tarfile.GNUTYPE_SPARSE])
def test_other_kinds_are_refused(kind):
    info = tarfile.TarInfo("a")
    info.type, info.linkname = kind, "b"
    content = info.tobuf(tarfile.GNU_FORMAT) + bytes(2 * tarfile.BLOCKSIZE)
    with pytest.raises(BadInputError):
        packed(content)


def test_sparse_files_and_large_headers_are_refused():
    for headers in ({"GNU.sparse.major": "1"}, {"comment": "x" * (1 << 17)}):
        info = tarfile.TarInfo("a")
        info.pax_headers = headers
        with pytest.raises(BadInputError):
            packed(info.tobuf(tarfile.PAX_FORMAT) + bytes(2 * tarfile.BLOCKSIZE))
