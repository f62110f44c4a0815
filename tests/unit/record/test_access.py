"""New files and folders are private, or shared where their folder is."""

import os

import pytest

from anubis.record import access


@pytest.fixture(params=[0, 0o022, 0o077])
def umask(request):
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def mode(path):
    return path.stat().st_mode & 0o7777


def created(path):
    os.close(access.create(str(path), os.O_WRONLY))
    return mode(path)


def test_files_and_folders_are_private(tmp_path, umask):
    access.make_folder(str(tmp_path / "a/b"))
    assert (mode(tmp_path / "a"), mode(tmp_path / "a/b")) == (0o700, 0o700)
    assert created(tmp_path / "a/b/file") == 0o600


def test_sharing_is_inherited(tmp_path, umask):
    access.make_folder(str(tmp_path / "home"))
    (tmp_path / "home").chmod(access.SHARED_FOLDER)
    access.make_folder(str(tmp_path / "home/a/b"))
    assert (mode(tmp_path / "home/a"), mode(tmp_path / "home/a/b")) == (0o2770, 0o2770)
    assert created(tmp_path / "home/a/b/file") == 0o660


def test_a_folder_with_only_one_of_the_bits_is_not_shared(tmp_path):
    for bits in (0o2700, 0o770, 0o2750):
        tmp_path.chmod(bits)
        assert not access.is_shared(str(tmp_path))


def test_an_open_folder_decides(tmp_path, monkeypatch):
    tmp_path.chmod(access.SHARED_FOLDER)
    folder = os.open(tmp_path, os.O_RDONLY)
    os.close(access.create("file", os.O_WRONLY, dir_fd=folder))
    os.close(folder)
    assert mode(tmp_path / "file") == 0o660


def test_relative_paths(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    access.make_folder("a/b")
    access.make_folder("a/b")
    assert created(tmp_path / "a/b/c") == created(tmp_path / "a/c") == 0o600
    os.close(access.create("d", os.O_WRONLY))


def test_a_file_is_not_a_folder(tmp_path):
    (tmp_path / "a").touch()
    with pytest.raises(FileExistsError):
        access.make_folder(str(tmp_path / "a"))
