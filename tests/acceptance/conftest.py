import pytest

from support.command import Command


@pytest.fixture
def anubis(tmp_path):
    """The installed command in a home of its own."""
    folder = tmp_path / "work"
    folder.mkdir()
    command = Command(tmp_path / "home", folder)
    yield command
    command.close()
