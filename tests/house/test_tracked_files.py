"""The house tests look at the same files in a clone and in a source archive."""

import shutil
import subprocess

import pytest

from support import tree


@pytest.fixture
def archive(tmp_path, monkeypatch):
    """A source archive that was unpacked and used: without a repository, with a virtual environment and caches."""
    for name in ("src/pkg/module.py", "README.md", ".ci/run", ".gitignore"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    expected = sorted(path for path in tmp_path.rglob("*") if path.is_file())
    for name in (
        ".venv/bin/python",
        "src/pkg/__pycache__/module.pyc",
        ".mypy_cache/3.11/x.json",
        "site/index.html",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True)
        path.write_text("")
    monkeypatch.setattr(tree, "ROOT", tmp_path)
    tree.tracked.cache_clear()
    yield expected
    tree.tracked.cache_clear()


def test_every_file_of_a_source_archive_counts(archive):
    assert tree.tracked() == archive


def test_without_git_a_clone_is_like_an_archive(archive, monkeypatch):
    (tree.ROOT / ".git").mkdir()
    (tree.ROOT / ".git" / "HEAD").write_text("")
    monkeypatch.setattr(shutil, "which", lambda _name: None)
    assert tree.tracked() == archive


@pytest.mark.skipif(
    not (tree.ROOT / ".git").exists() or not shutil.which("git"), reason="a source archive has no repository"
)
def test_in_a_clone_git_says_which_files_count():
    listed = subprocess.run(["git", "-C", tree.ROOT, "ls-files"], capture_output=True, text=True, check=True)
    assert {tree.shown(path) for path in tree.tracked()} <= set(listed.stdout.splitlines())
    assert tree.ROOT / "README.md" in tree.tracked()
