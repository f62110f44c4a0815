"""What every source of datasets must do."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from anubis.contracts.source import RemoteFile, Source
from anubis.model.cause import Cause
from anubis.model.errors import SourceError

CONTENT = bytes(range(256)) * 40


@dataclass(frozen=True, kw_only=True)
class ServedFile:
    """A source, with a file that has ``CONTENT``."""

    source: Source
    url: str
    #: An address without a file.
    missing: str
    #: Replaces the content of the file.
    replace: Callable[[bytes], Any]


class SourceContract:
    """Subclasses provide the fixture ``served``, a ``ServedFile``."""

    def test_a_file_has_its_size_and_its_content(self, served: ServedFile) -> None:
        file = found(served)
        assert (file.path, file.size_bytes) == ("", len(CONTENT))
        assert content(served, file, 0, None) == CONTENT

    @pytest.mark.parametrize(
        ("start", "stop"), [(0, 1), (100, 200), (0, len(CONTENT)), (len(CONTENT) - 1, None), (5, None)]
    )
    def test_a_part_has_exactly_its_bytes(self, served: ServedFile, start: int, stop: int | None) -> None:
        file = found(served)
        assert file.ranges
        assert content(served, file, start, stop) == CONTENT[start:stop]

    def test_the_version_shows_whether_the_file_changed(self, served: ServedFile) -> None:
        before = found(served)
        assert served.source.find(served.url, before.version) in (None, (before,))
        served.replace(CONTENT[::-1] + b"more")
        after = served.source.find(served.url, before.version)
        assert after is not None
        assert after[0].version != before.version

    def test_another_version_is_never_sent(self, served: ServedFile) -> None:
        file = found(served)
        served.replace(CONTENT[::-1] + b"more")
        with pytest.raises(SourceError) as raised:
            content(served, file, 5, None)
        assert raised.value.cause is Cause.DATA_CHANGED

    def test_a_missing_file_is_not_tried_again(self, served: ServedFile) -> None:
        with pytest.raises(SourceError) as raised:
            served.source.find(served.missing)
        assert (raised.value.cause, raised.value.temporary) == (Cause.DATA_NOT_FOUND, False)


def found(served: ServedFile) -> RemoteFile:
    """The file as the source finds it."""
    files = served.source.find(served.url)
    assert files is not None
    (file,) = files
    assert file.version
    return file


def content(served: ServedFile, file: RemoteFile, start: int, stop: int | None) -> bytes:
    """The bytes that the source sends."""
    stream = served.source.open(file, start, stop)
    try:
        return b"".join(iter(lambda: stream.read1(1000), b""))
    finally:
        stream.close()
