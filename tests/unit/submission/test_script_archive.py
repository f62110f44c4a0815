"""Script archives: the same content is the same bytes, and nothing gets out of the folder it is unpacked into."""

import io
import os
import tarfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anubis.model.errors import BadInputError
from anubis.submission.script_archive import archive, extract

NAMES = st.text("abcdefgh.-_", min_size=1, max_size=8).filter(lambda name: name.strip("."))


def write(folder, files):
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


@given(files=st.dictionaries(NAMES, st.binary(max_size=200), max_size=6))
def test_what_is_archived_comes_back(tmp_path_factory, files):
    source, target = tmp_path_factory.mktemp("a"), tmp_path_factory.mktemp("b")
    write(source, files)

    key, content = archive(source)
    extract(io.BytesIO(content), target)

    unpacked = target / source.name
    assert {path.name: path.read_bytes() for path in unpacked.iterdir()} == files
    assert archive(unpacked)[0] == key


def test_times_owners_and_caches_do_not_change_the_key(tmp_path):
    first, second = tmp_path / "first/code", tmp_path / "second/code"
    for folder in (first, second):
        write(folder, {"train.py": b"print(1)", "lib/model.py": b"x = 1"})
    write(
        second,
        {"__pycache__/train.pyc": b"noise", "lib/__pycache__/model.pyc": b"noise", ".git/HEAD": b"ref"},
    )
    os.utime(second / "train.py", (1, 1))
    (second / "train.py").chmod(0o600)

    assert archive(first) == archive(second)


def test_an_executable_stays_one(tmp_path):
    write(tmp_path / "in", {"run.sh": b"#!/bin/sh\n"})
    (tmp_path / "in/run.sh").chmod(0o755)

    extract(io.BytesIO(archive(tmp_path / "in")[1]), tmp_path / "out")

    assert os.access(tmp_path / "out/in/run.sh", os.X_OK)


def test_a_script_that_lost_its_mode_is_executable_again(tmp_path):
    write(tmp_path / "code", {"start.sh": b"#!/bin/sh\necho 1\n", "data.txt": b"# no script\n"})
    (tmp_path / "code/start.sh").chmod(0o644)

    extract(io.BytesIO(archive(tmp_path / "code")[1]), tmp_path / "out")

    modes = {path.name: path.stat().st_mode & 0o111 for path in (tmp_path / "out/code").iterdir()}
    assert modes["data.txt"] == 0 < modes["start.sh"]


def test_a_single_file_is_an_archive_of_its_name(tmp_path):
    (tmp_path / "train.py").write_text("print(1)")

    with tarfile.open(fileobj=io.BytesIO(archive(tmp_path / "train.py")[1])) as tar:
        assert tar.getnames() == ["train.py"]


def test_a_missing_path_is_named(tmp_path):
    with pytest.raises(BadInputError, match="no file or folder"):
        archive(tmp_path / "nowhere")


def test_a_link_out_of_the_folder_is_refused_when_archiving(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "secret").write_text("x")
    (tmp_path / "in/link").symlink_to("../secret")

    with pytest.raises(BadInputError, match="outside the script folder"):
        archive(tmp_path / "in")


def test_a_link_inside_the_folder_stays_a_link(tmp_path):
    write(tmp_path / "in", {"a.py": b"1"})
    (tmp_path / "in/b.py").symlink_to("a.py")

    extract(io.BytesIO(archive(tmp_path / "in")[1]), tmp_path / "out")

    assert (tmp_path / "out/in/b.py").is_symlink()
    assert (tmp_path / "out/in/b.py").read_bytes() == b"1"


@pytest.mark.parametrize(
    ("name", "kind", "target"),
    [
        ("../escaped", tarfile.REGTYPE, ""),
        ("/absolute-link", tarfile.SYMTYPE, "/etc/passwd"),
        ("link", tarfile.SYMTYPE, "../../outside"),
        ("device", tarfile.CHRTYPE, ""),
    ],
)
def test_hostile_members_never_leave_the_folder(tmp_path, name, kind, target):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        info = tarfile.TarInfo(name)
        info.type, info.linkname = kind, target
        tar.addfile(info)
    buffer.seek(0)

    with pytest.raises(BadInputError, match="not valid"):
        extract(buffer, tmp_path / "deep/er/out")

    assert not (tmp_path / "deep/er/escaped").exists()
    assert list((tmp_path / "deep").rglob("*")) in (
        [],
        [tmp_path / "deep/er"],
        [tmp_path / "deep/er", tmp_path / "deep/er/out"],
    )
