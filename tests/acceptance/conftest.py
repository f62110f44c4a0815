import pytest

from support.command import Command


@pytest.fixture
def anubis(tmp_path):
    """The installed command with a separate home."""
    folder = tmp_path / "work"
    folder.mkdir()
    command = Command(tmp_path / "home", folder)
    yield command
    command.close()
