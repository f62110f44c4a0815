"""The contracts of ``Objects`` and ``Records`` as tests, with a fixture ``objects`` or ``records``."""

import io
from typing import Any

import pytest

from anubis.model.errors import NotFoundError
from anubis.model.ids import new_run_id


class ObjectsContract:
    """Bytes by key."""

    @pytest.mark.parametrize(
        "data", [b"", b"some bytes", bytes(range(256)) * 10_000], ids=["none", "few", "many"]
    )
    def test_bytes_come_back(self, objects: Any, data: bytes) -> None:
        assert objects.put("sha256/abc.tar", io.BytesIO(data)) == len(data)
        with objects.open("sha256/abc.tar") as stream:
            assert stream.read() == data

    def test_a_key_may_be_put_again(self, objects: Any) -> None:
        for data in (b"old and long", b"new"):
            objects.put("key", io.BytesIO(data))
        with objects.open("key") as stream:
            assert stream.read() == b"new"

    def test_an_unknown_key_is_not_found(self, objects: Any) -> None:
        objects.put("a/b", io.BytesIO(b"x"))
        for key in ("b", "a", "a/b/c"):
            with pytest.raises(NotFoundError):
                objects.open(key)

    def test_a_stream_that_breaks_leaves_nothing(self, objects: Any) -> None:
        class Broken(io.RawIOBase):
            def read(self, _size: int = -1) -> bytes:
                raise ConnectionError("gone")

        with pytest.raises(ConnectionError):
            objects.put("key", Broken())
        with pytest.raises(NotFoundError):
            objects.open("key")

    def test_keys_have_addresses(self, objects: Any) -> None:
        objects.put("a/b", io.BytesIO(b"x"))
        assert objects.url("a/b").endswith("a/b")
        assert ":" in objects.url("a/b")


class RecordsContract:
    """The records of runs, as folders."""

    def test_every_attempt_role_and_rank_has_a_folder_of_its_own(self, records: Any) -> None:
        run_id = new_run_id()
        parts = [(1, "benchmark", 0), (2, "benchmark", 0), (1, "server", 0), (1, "benchmark", 1)]
        folders = [records.folder(run_id, *part) for part in parts]
        for number, folder in enumerate(folders):
            folder.mkdir(parents=True)
            (folder / "stdout").write_text(str(number))
        assert [(folder / "stdout").read_text() for folder in folders] == ["0", "1", "2", "3"]
        assert records.folder(run_id, 1) == folders[0]

    def test_attempts_are_in_order(self, records: Any) -> None:
        run_id = new_run_id()
        assert records.attempts(run_id) == []
        for attempt in (10, 9, 1):
            records.folder(run_id, attempt).mkdir(parents=True)
        assert records.attempts(run_id) == [1, 9, 10]

    def test_a_packed_record_is_back_when_it_is_asked_for(self, records: Any) -> None:
        run_id = new_run_id()
        for attempt in (1, 2):
            folder = records.folder(run_id, attempt)
            folder.mkdir(parents=True)
            (folder / "stdout").write_bytes(b"the same line\n" * 10_000)
        records.pack(run_id)
        assert records.attempts(run_id) == [1, 2]
        for _ in range(2):
            assert (records.folder(run_id, 2) / "stdout").read_bytes() == b"the same line\n" * 10_000
            assert records.pack(run_id) >= 0
        records.pack(run_id)
        records.remove(run_id)
        assert records.attempts(run_id) == []

    def test_a_removed_record_is_gone(self, records: Any) -> None:
        kept, gone = new_run_id(), new_run_id()
        for run_id in (kept, gone):
            records.folder(run_id, 1).mkdir(parents=True)
        for _ in range(2):
            records.remove(gone)
        assert records.attempts(gone) == []
        assert records.attempts(kept) == [1]
