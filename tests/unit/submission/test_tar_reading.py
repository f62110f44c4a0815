"""Archives of unknown origin are read in bounded memory."""

import io
import tarfile
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anubis.model.errors import BadInputError
from anubis.submission.script_archive import extract
from anubis.submission.tar_reading import FILE, FOLDER, LINK, Archive
from support.hostile_archives import header, member

END = bytes(tarfile.RECORDSIZE)
NAMES = st.text(min_size=1, max_size=300).filter(lambda name: name.strip("/") == name and "\0" not in name)


def written(*infos):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for info, content in infos:
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def members(content):
    archive = Archive(io.BytesIO(content))
    return [(each.name, each.kind, b"".join(iter(archive.read, b""))) for each in archive]


@given(files=st.dictionaries(NAMES, st.binary(max_size=1500), max_size=4))
def test_what_tarfile_writes_is_read(files):
    content = written(*((tarfile.TarInfo(name), body) for name, body in files.items()))
    assert members(content) == [(name, FILE, body) for name, body in files.items()]


def test_folders_links_and_names_that_are_not_text():
    folder, link = tarfile.TarInfo("a" * 200), tarfile.TarInfo("\udcff" * 60)
    folder.type, link.type, link.linkname = FOLDER, LINK, "b" * 200
    archive = Archive(io.BytesIO(written((folder, b""), (link, b""))))
    assert [(each.name, each.kind, each.target) for each in archive] == [
        ("a" * 200, FOLDER, ""),
        ("\udcff" * 60, LINK, "b" * 200),
    ]


def test_content_that_is_not_read_is_skipped():
    content = written((tarfile.TarInfo("a"), b"x" * 3_000_000), (tarfile.TarInfo("b"), b"y"))
    assert [each.name for each in Archive(io.BytesIO(content))] == ["a", "b"]


@given(data=st.binary(max_size=2000))
def test_any_bytes_are_refused(data):
    with pytest.raises((tarfile.TarError, ValueError)):
        members(data + b"x")


class Zeros(io.RawIOBase):
    """An endless stream of zeros after its first bytes."""

    def __init__(self, first):
        self.first = io.BytesIO(first)

    def read(self, length=-1):
        assert length >= 0
        data = self.first.read(length)
        return data + bytes(length - len(data))


def long_header(kind, size):
    info = tarfile.TarInfo("././@LongLink")
    info.type, info.size = kind, size
    return info.tobuf(tarfile.GNU_FORMAT)


SCRIPTS = {
    "PAX header of 6 GiB": long_header(tarfile.XHDTYPE, 6 << 30),
    "global header of 6 GiB": long_header(tarfile.XGLTYPE, 6 << 30),
    "long name of 6 GiB": long_header(tarfile.GNUTYPE_LONGNAME, 6 << 30),
    "long link of 6 GiB": long_header(tarfile.GNUTYPE_LONGLINK, 6 << 30),
    "sparse file": long_header(tarfile.GNUTYPE_SPARSE, 1 << 20),
    "contiguous file": header("a", kind=tarfile.CONTTYPE) + END,
    "device": header("a", kind=tarfile.BLKTYPE) + END,
    "pipe": header("a", kind=tarfile.FIFOTYPE) + END,
    "hard link": header("a", kind=tarfile.LNKTYPE, linkname="/etc/passwd") + END,
    "file of 1 TiB": long_header(FILE, 1 << 40),
    "data after the end": header("a") + END[:1024] + b"x",
    "zeros without an end": header("a") + END[:1024],
    "a name twice": member("a", b"x") + member("a", b"y") + END[:1024],
    "a file as a folder": member("a", b"x") + member("a/b", b"y") + END[:1024],
    "a folder of 1 byte": header("a", 1, FOLDER) + END,
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_hostile_script_archive_is_refused_in_bounded_memory(tmp_path, name):
    tracemalloc.start()
    with pytest.raises(BadInputError) as refused:
        extract(Zeros(SCRIPTS[name]), tmp_path / "out")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert refused.value.remedy
    assert peak < 32 << 20


@pytest.mark.parametrize("form", ["gz", "bz2", "xz"])
def test_a_compressed_script_archive_is_refused(tmp_path, form):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=f"w:{form}") as tar:
        info = tarfile.TarInfo("zeros")
        info.size = 1 << 20
        tar.addfile(info, io.BytesIO(bytes(1 << 20)))
    buffer.seek(0)
    with pytest.raises(BadInputError, match="not valid"):
        extract(buffer, tmp_path / "out")
