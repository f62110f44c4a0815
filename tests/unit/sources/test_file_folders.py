"""Files are data only in the folders that the operator names, whatever links lead out of them."""

import pytest

from anubis.contracts.world import Surroundings
from anubis.model.cause import Cause
from anubis.model.errors import SourceError
from anubis.settings import Settings
from anubis.sources.file import FileSettings, FileSource, build
from anubis.testing.memory_folders import FakeObjects


@pytest.fixture
def folders(tmp_path):
    allowed, other = tmp_path / "allowed", tmp_path / "allowed-not"
    for folder in (allowed, other):
        folder.mkdir()
        (folder / "file").write_text("content")
    (allowed / "link").symlink_to(other / "file")
    return allowed, other


def test_only_the_folders_that_are_named(folders):
    allowed, other = folders
    source = FileSource(FileSettings(folders=(str(allowed),)))
    (file,) = source.find(f"{allowed.as_uri()}/file")
    source.open(file, 0, None).close()
    assert source.refusal(f"{allowed.as_uri()}/file") == ""
    for url in (
        f"{other.as_uri()}/file",
        f"{allowed.as_uri()}/../allowed-not/file",
        f"{allowed.as_uri()}/link",
        allowed.as_uri(),
    ):
        with pytest.raises(SourceError, match="is not in a folder whose files may be read") as raised:
            source.find(url)
        assert raised.value.cause is Cause.DATA_ADDRESS
    assert source.refusal(other.as_uri())


def test_none_where_benchmarks_run_in_a_sandbox(folders):
    allowed, _ = folders
    for environ, readable in (({}, False), ({"ANUBIS_DATA_FOLDERS": str(allowed)}, True)):
        settings = Settings(
            home=allowed,
            database_url="sqlite://",
            secrets=allowed,
            prices=allowed,
            data=allowed,
            sandbox="on",
        )
        source = build(Surroundings(settings=settings, objects=FakeObjects(), environ=environ))
        assert (source.refusal(f"{allowed.as_uri()}/file") == "") is readable
