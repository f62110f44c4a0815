"""The subject is resolved once, from git, when a run is submitted."""

import pytest

from anubis.model.descriptor import Subject
from anubis.model.errors import BadInputError
from anubis.submission.subject import order_s, resolve
from support.git import git


@pytest.fixture
def repository(tmp_path):
    git(tmp_path, "init", "-q")
    (tmp_path / "train.py").write_text("1")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "first", date_s=2_000)
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


def commit(repository, text, *, date_s=2_000):
    (repository / "train.py").write_text(text)
    git(repository, "commit", "-qam", text, date_s=date_s)
    return git(repository, "rev-parse", "HEAD")


def place(repository, name):
    return order_s(Subject(commit=name), repository)


def test_a_commit_is_later_than_its_parents_whatever_its_clock_said(repository):
    assert place(repository, commit(repository, "a clock that was wrong", date_s=1_000)) == 2_001.0


def test_a_commit_with_a_later_date_stands_at_its_date(repository):
    assert place(repository, commit(repository, "an hour later", date_s=5_600)) == 5_600.0


def test_commits_of_one_second_keep_the_order_of_their_ancestry(repository):
    """A rebase gives many commits the same date."""
    commits = [commit(repository, str(number)) for number in range(16)]
    places = [place(repository, name) for name in commits]
    assert places == sorted(set(places))


@pytest.mark.parametrize("fast_forward", ["--ff", "--no-ff"])
def test_a_merge_is_later_than_both_sides(repository, fast_forward):
    git(repository, "checkout", "-qb", "side")
    (repository / "other.py").write_text("1")
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "the side, dated late", date_s=9_000)
    side = git(repository, "rev-parse", "HEAD")
    git(repository, "checkout", "-q", "-")
    trunk = commit(repository, "the trunk")
    git(repository, "merge", "-q", fast_forward, "-m", "merged", "side", date_s=2_000)
    merged = place(repository, "HEAD")
    assert merged > max(place(repository, side), place(repository, trunk))
    assert place(repository, commit(repository, "after the merge")) > merged


def test_a_commit_from_elsewhere_has_no_date(repository):
    assert order_s(Subject(commit="0" * 40), repository) is None
    assert order_s(Subject(), repository) is None


def test_a_commit_that_looks_like_an_option_of_git_is_none(repository):
    assert order_s(Subject(commit="--output=written"), repository) is None
    assert not (repository / "written").exists()
