import pytest

from support.command import Command


@pytest.fixture
def anubis(tmp_path):
    """The installed command in a home of its own."""
    folder = tmp_path / "work"
    folder.mkdir()
    return Command(tmp_path / "home", folder)
