"""The agent's tests find old and new Pythons however the machine installed them."""

import sys

import pytest

from support import agents


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine without any other Python."""
    monkeypatch.setattr(sys, "base_prefix", str(tmp_path / "usr" / "python"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.delenv("PYENV_ROOT", raising=False)
    agents.interpreter.cache_clear()
    yield tmp_path
    agents.interpreter.cache_clear()


def install(path, answer):
    path.parent.mkdir(parents=True)
    path.write_text(f"#!/bin/sh\n{answer}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    "place",
    [
        "usr/3.8.18/bin/python3.8",
        "home/.pyenv/versions/3.8.18/bin/python3.8",
        "elsewhere/versions/3.8.18/bin/python3.8",
        "bin/python3.8",
    ],
)
def test_a_python_is_found(machine, monkeypatch, place):
    monkeypatch.setenv("PYENV_ROOT", str(machine / "elsewhere"))
    installed = install(machine / place, "echo 3.8")
    assert agents.interpreter("3.8") == installed


@pytest.mark.parametrize("answer", ["exit 127", "echo 3.9"])
def test_a_shim_without_its_version_is_not_used(machine, answer):
    install(machine / "bin" / "python3.8", answer)
    with pytest.raises(pytest.skip.Exception, match=r"needs Python 3\.8: install it"):
        agents.interpreter("3.8")


def test_the_python_of_the_tests_needs_no_search(machine):
    assert agents.interpreter("this") == sys.executable
