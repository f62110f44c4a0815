"""A process that protects itself from the folders of others never calls git there."""

import pytest

from anubis.model.descriptor import Subject
from anubis.model.errors import BadInputError
from anubis.submission import git, subject
from support.git import git as call


@pytest.fixture
def refused(monkeypatch):
    monkeypatch.setattr(git, "_refusal", [])
    git.refuse("it must not")


def test_git_runs_no_program_of_a_repository(tmp_path, refused):
    mark = tmp_path / "ran"
    call(tmp_path, "init", "-q")
    call(tmp_path, "commit", "-q", "--allow-empty", "-m", "one")
    call(tmp_path, "config", "core.fsmonitor", f"touch {mark}; false")
    auto = Subject(commit=subject.AUTO)
    for ask in (lambda: subject.resolve(auto, tmp_path), lambda: git.Repository(tmp_path)):
        with pytest.raises(BadInputError, match="git cannot be asked: it must not") as caught:
            ask()
        assert "subject.commit" in caught.value.remedy
    assert subject.order_s(Subject(commit="HEAD"), tmp_path) is None
    assert subject.looked_up(auto, tmp_path, {"auto": ("abc", 1.0)}) == (Subject(commit="abc"), 1.0)
    assert not mark.exists()
