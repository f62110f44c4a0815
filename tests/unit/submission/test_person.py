import pwd
from types import SimpleNamespace

import pytest

from anubis.settings import Settings
from anubis.submission.person import person


@pytest.fixture
def settings(tmp_path, monkeypatch):
    """Settings of a person without a git configuration."""
    for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"):
        monkeypatch.setenv(name, "/dev/null")
    monkeypatch.chdir(tmp_path)
    return Settings.from_env({"HOME": str(tmp_path)})


def login(monkeypatch, gecos):
    monkeypatch.setattr(pwd, "getpwuid", lambda _: SimpleNamespace(pw_name="ada", pw_gecos=gecos))


def test_the_setting_comes_first(settings, monkeypatch):
    login(monkeypatch, "Ada Lovelace")
    assert person(Settings.from_env({"HOME": "/x", "ANUBIS_CLIENT_ID": "nightly"})) == "nightly"


def test_the_name_of_git_comes_before_that_of_the_login(settings, monkeypatch, tmp_path):
    login(monkeypatch, "Ada Lovelace")
    config = tmp_path / "config"
    config.write_text("[user]\nname = Augusta  Ada\x1b King\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    assert person(settings) == "Augusta Ada King"
    monkeypatch.setenv("PATH", str(tmp_path))
    assert person(settings) == "Ada Lovelace", "git is not installed"


@pytest.mark.parametrize(
    ("gecos", "expected"),
    [("Ada Lovelace,Room 1,,", "Ada Lovelace"), ("& Lovelace", "Ada Lovelace"), ("", "ada"), (",,,", "ada")],
)
def test_the_login_has_a_full_name_or_a_short_one(settings, monkeypatch, gecos, expected):
    login(monkeypatch, gecos)
    assert person(settings) == expected


def test_a_user_without_an_entry_has_a_number(settings, monkeypatch):
    def unknown(uid):
        raise KeyError(uid)

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    monkeypatch.delenv("USER", raising=False)
    monkeypatch.setattr("os.getuid", lambda: 4711)
    assert person(settings) == "4711"
