"""The subject is resolved once, from git, when a run is submitted."""

import os
import subprocess

import pytest

from anubis.model.descriptor import Subject
from anubis.model.errors import BadInputError
from anubis.submission.subject import order_s, resolve


def git(folder, *words, date=1_000_000_000):
    stamp = f"@{date} +0000"
    identity = {f"GIT_{who}_{what}": "t" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    environment = os.environ | identity | {"GIT_AUTHOR_DATE": stamp, "GIT_COMMITTER_DATE": stamp}
    return subprocess.run(
        ["git", *words], cwd=folder, env=environment, capture_output=True, text=True, check=True
    ).stdout.strip()


@pytest.fixture
def repository(tmp_path):
    git(tmp_path, "init", "-q")
    (tmp_path / "train.py").write_text("1")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "first", date=2_000)
    return tmp_path


def test_a_named_commit_stays_as_it_is(tmp_path):
    assert resolve(Subject(commit="abc"), tmp_path) == Subject(commit="abc")


def test_auto_is_the_commit_of_the_working_tree(repository):
    assert resolve(Subject(commit="auto"), repository).commit == git(repository, "rev-parse", "HEAD")


def test_a_changed_tree_is_marked(repository):
    (repository / "train.py").write_text("2")

    assert (
        resolve(Subject(commit="auto"), repository).commit == git(repository, "rev-parse", "HEAD") + "-dirty"
    )


def test_auto_outside_git_names_the_remedy(tmp_path):
    with pytest.raises(BadInputError, match="name the commit"):
        resolve(Subject(commit="auto"), tmp_path)


def test_a_commit_is_never_older_than_its_parents(repository):
    (repository / "train.py").write_text("2")
    git(repository, "commit", "-qam", "made by a clock that was wrong", date=1_000)

    assert order_s(resolve(Subject(commit="auto"), repository), repository) == 2_000.0


def test_a_commit_from_elsewhere_has_no_date(repository):
    assert order_s(Subject(commit="0" * 40), repository) is None
    assert order_s(Subject(), repository) is None


def test_a_commit_that_looks_like_an_option_of_git_is_none(repository):
    assert order_s(Subject(commit="--output=written"), repository) is None
    assert not (repository / "written").exists()
