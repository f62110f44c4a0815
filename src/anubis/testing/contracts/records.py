"""The contract of ``Records`` as tests, with a fixture ``records``."""

from collections.abc import Callable
from typing import Any

import pytest

from anubis.contracts.records import Append, RecordKey, RoleFiles
from anubis.model.ids import new_run_id
from anubis.record import layout
from anubis.record.appending import ConflictError, GapError
from anubis.record.files import reader

OUT = layout.STDOUT


def content(records: Any, key: RecordKey, file: str = OUT) -> bytes:
    """The whole content of a file."""
    return reader(RoleFiles(records, key), file).read()


class RecordsContract:
    """Files that are appended to, and files that are replaced."""

    @pytest.fixture
    def key(self) -> RecordKey:
        """The record of a new run."""
        return RecordKey(new_run_id(), 1)

    def test_bytes_are_appended_at_their_offset(self, records: Any, key: RecordKey) -> None:
        assert records.append(key, OUT, 0, b"one ") == 4
        assert records.append(key, OUT, 4, b"two") == 7
        assert content(records, key) == b"one two"

    def test_repeated_bytes_are_stored_once(self, records: Any, key: RecordKey) -> None:
        records.append(key, OUT, 0, b"one two")
        assert records.append(key, OUT, 0, b"one") == 7
        assert records.append(key, OUT, 4, b"two three") == 13
        assert content(records, key) == b"one two three"

    def test_a_gap_is_refused_and_names_the_expected_offset(self, records: Any, key: RecordKey) -> None:
        for size in (0, 3):
            with pytest.raises(GapError) as refused:
                records.append(key, OUT, size + 1, b"x")
            assert refused.value.expected == size
            records.append(key, OUT, 0, b"one")
        assert content(records, key) == b"one"

    def test_other_bytes_at_a_stored_offset_are_refused(self, records: Any, key: RecordKey) -> None:
        records.append(key, OUT, 0, b"one two")
        with pytest.raises(ConflictError):
            records.append(key, OUT, 4, b"twelve")
        assert content(records, key) == b"one two"

    def test_several_appends_at_once_are_those_one_after_the_other(
        self, records: Any, key: RecordKey
    ) -> None:
        other = RecordKey(key.run_id, 1, "server", 2)
        appends = [
            Append(key=key, file=OUT, offset=0, data=b"one "),
            Append(key=other, file=OUT, offset=0, data=b"ready"),
            Append(key=key, file=OUT, offset=4, data=b"two"),
            Append(key=key, file=OUT, offset=0, data=b"one"),
            Append(key=key, file=OUT, offset=8, data=b"x"),
            Append(key=key, file=OUT, offset=0, data=b"other"),
            Append(key=key, file=layout.EXIT, offset=0, data=b"{"),
            Append(key=key, file="../out", offset=0, data=b"x"),
            Append(key=key, file=layout.LINES, offset=0, data=b""),
        ]
        sizes = records.append_all(appends)
        assert [*sizes[:4], sizes[8]] == [4, 5, 7, 7, 0]
        assert [type(error) for error in sizes[4:8]] == [GapError, ConflictError, ValueError, ValueError]
        assert sizes[4].expected == 7
        assert (content(records, key), content(records, other)) == (b"one two", b"ready")
        assert records.append_all([]) == []

    def test_what_follows_an_append_that_fails_is_not_stored(self, records: Any, key: RecordKey) -> None:
        appends = [
            Append(key=key, file=OUT, offset=0, data=b"one"),
            Append(key=key, file=layout.STDERR, offset=1, data=b"x", follows=True),
            Append(key=key, file=layout.LINES, offset=0, data=b"x", follows=True),
            Append(key=key, file=layout.EMIT, offset=0, data=b"x"),
        ]
        first, gap, skipped, last = records.append_all(appends)
        assert (first, last) == (3, 1)
        assert isinstance(gap, GapError)
        assert skipped is gap
        assert (content(records, key), content(records, key, layout.EMIT)) == (b"one", b"x")
        assert records.state(key, layout.LINES) is None

    def test_an_empty_file_exists(self, records: Any, key: RecordKey) -> None:
        assert records.state(key, OUT) is None
        assert records.append(key, OUT, 0, b"") == 0
        assert records.state(key, OUT).size_bytes == 0

    def test_a_part_of_a_file_is_read(self, records: Any, key: RecordKey) -> None:
        assert records.read(key, OUT, 0, 10) == b""
        records.append(key, OUT, 0, b"0123456789")
        assert records.read(key, OUT, 3, 4) == b"3456"
        assert records.read(key, OUT, 8, 4) == b"89"
        assert records.read(key, OUT, 10, 4) == b""

    def test_a_file_is_replaced_whole(self, records: Any, key: RecordKey) -> None:
        for data in (b'{"long": 1}', b"{}"):
            records.replace(key, layout.EXIT, data)
            assert content(records, key, layout.EXIT) == data
        assert [each.file for each in records.list(key.run_id, 1)] == [layout.EXIT]

    def test_a_file_grows_or_is_replaced_but_not_both(self, records: Any, key: RecordKey) -> None:
        with pytest.raises(ValueError, match=r"exit\.json"):
            records.append(key, layout.EXIT, 0, b"{")
        with pytest.raises(ValueError, match=OUT):
            records.replace(key, OUT, b"all")
        assert records.attempts(key.run_id) in ([], [1])
        assert records.list(key.run_id, 1) == []

    def test_every_attempt_role_and_rank_has_separate_files(self, records: Any, key: RecordKey) -> None:
        run_id = key.run_id
        parts = [(1, "benchmark", 0), (2, "benchmark", 0), (1, "server", 0), (1, "benchmark", 1)]
        keys = [RecordKey(run_id, *part) for part in parts]
        for number, each in enumerate(keys):
            records.append(each, OUT, 0, b"%d" % number)
        assert [content(records, each) for each in keys] == [b"0", b"1", b"2", b"3"]

    def test_the_files_of_an_attempt_are_listed_in_order(self, records: Any, key: RecordKey) -> None:
        server = RecordKey(key.run_id, 1, "server", 2)
        records.append(server, OUT, 0, b"ready")
        records.append(key, "work/model.bin", 0, b"weights")
        records.append(key, OUT, 0, b"out")
        records.append(RecordKey(key.run_id, 2), OUT, 0, b"of another attempt")
        found = [(each.key, each.file, each.size_bytes) for each in records.list(key.run_id, 1)]
        assert found == [(key, OUT, 3), (key, "work/model.bin", 7), (server, OUT, 5)]
        assert records.list(key.run_id, 3) == []

    def test_attempts_are_in_order(self, records: Any, key: RecordKey) -> None:
        assert records.attempts(key.run_id) == []
        for attempt in (10, 9, 1):
            records.append(RecordKey(key.run_id, attempt), OUT, 0, b"x")
        assert records.attempts(key.run_id) == [1, 9, 10]

    def test_a_packed_record_is_read_like_any_other(self, records: Any, key: RecordKey) -> None:
        second = RecordKey(key.run_id, 2)
        for each in (key, second):
            records.append(each, OUT, 0, b"the same line\n" * 10_000)
            records.replace(each, layout.EXIT, b"{}")
        looks: list[Callable[[], bool]] = [
            lambda: content(records, second) == b"the same line\n" * 10_000,
            lambda: records.state(second, OUT).size_bytes == 140_000,
            lambda: [each.file for each in records.list(key.run_id, 2)] == [layout.EXIT, OUT],
            lambda: records.append(second, OUT, 140_000, b"") == 140_000,
        ]
        for look in looks:
            assert records.pack(key.run_id) >= 0
            assert records.attempts(key.run_id) == [1, 2]
            assert look()

    def test_what_was_appended_to_a_packed_record_is_packed_too(self, records: Any, key: RecordKey) -> None:
        records.append(key, OUT, 0, b"first")
        records.pack(key.run_id)
        records.append(key, OUT, 5, b", second")
        records.pack(key.run_id)
        assert content(records, key) == b"first, second"

    def test_a_removed_record_is_gone(self, records: Any, key: RecordKey) -> None:
        kept = RecordKey(new_run_id(), 1)
        for each in (key, kept):
            records.append(each, OUT, 0, b"x")
        for _ in range(2):
            records.remove(key.run_id)
        assert records.attempts(key.run_id) == []
        assert content(records, key) == b""
        assert records.attempts(kept.run_id) == [1]

    def test_a_record_has_an_address(self, records: Any, key: RecordKey) -> None:
        records.append(key, OUT, 0, b"x")
        assert ":" in records.url(key)
        assert key.run_id in records.url(key)

    @pytest.mark.parametrize("run_id", ["", "..", "../..", "a", "01234567-89ab-7000-8000-00000000000/"])
    def test_only_run_ids_have_records(self, records: Any, run_id: str) -> None:
        calls: list[Callable[[], object]] = [
            lambda: records.attempts(run_id),
            lambda: records.remove(run_id),
            lambda: records.pack(run_id),
            lambda: records.list(run_id, 1),
            lambda: records.append(RecordKey(run_id, 1), OUT, 0, b"x"),
        ]
        for call in calls:
            with pytest.raises(ValueError, match="not a run id"):
                call()

    @pytest.mark.parametrize(
        "part",
        [(0, "benchmark", 0), (1, "../x", 0), (1, "", 0), (1, "a", -1), (1, "a/b", 0), (1, "a", 10**9)],
    )
    def test_only_real_roles_have_records(self, records: Any, part: tuple[int, str, int]) -> None:
        key = RecordKey(new_run_id(), *part)
        calls: list[Callable[[], object]] = [
            lambda: records.append(key, OUT, 0, b"x"),
            lambda: records.read(key, OUT, 0, 1),
        ]
        for call in calls:
            with pytest.raises(ValueError, match="no record has"):
                call()

    @pytest.mark.parametrize(
        "file", ["", ".", "..", "../x", "/etc/x", "a/../b", "a//b", "a/", "a\0b", "x" * 300]
    )
    def test_no_name_leads_out_of_the_record(self, records: Any, key: RecordKey, file: str) -> None:
        calls: list[Callable[[], object]] = [
            lambda: records.append(key, file, 0, b"x"),
            lambda: records.replace(key, file, b"x"),
            lambda: records.read(key, file, 0, 1),
            lambda: records.state(key, file),
        ]
        for call in calls:
            with pytest.raises(ValueError, match="not the name of a file"):
                call()

    @pytest.mark.parametrize("offset", [-1, 1 << 70])
    def test_an_offset_that_no_file_has_is_refused(self, records: Any, key: RecordKey, offset: int) -> None:
        with pytest.raises((ValueError, GapError)):
            records.append(key, OUT, offset, b"x")
