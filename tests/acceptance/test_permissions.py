"""Only its user has access to a home folder, whatever the umask; a group only where a setting names it."""

import grp
import os

import pytest

BENCHMARK = "sh -c 'echo rate=1; echo x > made'"
MORE = "[[output.metrics]]\nname = 'rate'\nunits = 'none'\npattern = 'rate=(.*)'"


def used(anubis, umask):
    """The home folder after a run, an import and a worker, all with this umask."""
    (anubis.folder / "script.py").write_text("print(1)\n")
    file = anubis.write("bench.toml", BENCHMARK, more=MORE)
    for words in (
        ["run", file, "--script", "script.py"],
        ["submit", file],
        ["watch", "@last"],
        ["record", "export"],
    ):
        ended = anubis(*words, umask=umask)
        assert ended.returncode == 0, ended.stderr
    return anubis.home


def modes(home):
    """Permissions of the files and folders that Anubis made; those of the benchmark are its own."""
    made = [path for path in home.rglob("*") if "work" not in path.parts and not path.is_symlink()]
    ours = [path for path in made if not any(part == "scripts" for part in path.parts)]
    return {str(path.relative_to(home)): path.lstat().st_mode & 0o7777 for path in ours}


@pytest.mark.parametrize("umask", [0, 0o022, 0o077])
def test_a_home_is_private(anubis, umask):
    home = used(anubis, umask)
    assert home.stat().st_mode & 0o7777 == 0o700
    found = modes(home)
    assert any(name.endswith("alive") for name in found)
    assert {name: oct(mode) for name, mode in found.items() if mode & 0o077} == {}
    assert "accessible" not in anubis("doctor").stdout


@pytest.mark.parametrize("umask", [0o022, 0o077])
def test_a_home_is_shared_with_a_group(anubis, umask, monkeypatch):
    group = grp.getgrgid(os.getgid()).gr_name
    monkeypatch.setenv("ANUBIS_HOME_GROUP", group)
    home = used(anubis, umask)
    assert home.stat().st_mode & 0o7777 == 0o2770
    found = modes(home)
    files = {name: oct(mode) for name, mode in found.items() if (home / name).is_file()}
    assert {name: mode for name, mode in files.items() if mode not in {"0o660", "0o760"}} == {}
    assert {mode & 0o007 for mode in found.values()} == {0}


def test_doctor_warns_about_an_open_home(anubis):
    anubis.home.mkdir(mode=0o755)
    shown = anubis("doctor").stdout
    assert "is accessible for all users" in shown
    assert "chmod -R go=" in shown


def test_an_unknown_group_is_one_error(anubis, monkeypatch):
    monkeypatch.setenv("ANUBIS_HOME_GROUP", "no-such-group")
    ended = anubis("history")
    assert ended.returncode == 2
    assert ended.stderr.count("error: ") == 1
