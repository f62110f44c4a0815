import re
import shutil
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from anubis.model.errors import BadInputError
from anubis.model.status import Status
from anubis.search import searching
from anubis.search.pieces import LONGEST_LINE, PIECE_BYTES
from anubis.search.query import LogQuery
from anubis.testing.builders import NOW_S, a_descriptor

#: Pieces of output in which short patterns occur often, with bytes that are not UTF-8, parts of characters and line ends.
PIECES = st.sampled_from(
    [
        b"a",
        b"b",
        b"ab",
        b"Ab",
        b"abc",
        b"\n",
        b"\r\n",
        b"\xff",
        "ä".encode(),
        "ä".encode()[:1],
        "漢字".encode(),
        b"\0",
        b"x" * 50,
    ]
)
OUTPUT = st.lists(PIECES, max_size=60).map(b"".join)
TEXTS = st.sampled_from(["a", "ab", "abc", "ä", "ab漢", "字", "xx", "\0", "bAb", "nothing"])
REGEXES = st.sampled_from(
    ["a+b", "^ab", "b$", "(ab|ba)c?", "[äb]{2}", "a.c", "(?i)AB", "ab?c", "x{50}", "漢.", "a(?!b)"]
)


def grep(output, found):
    """(number, offset, text) of every line that ``found`` accepts: an independent search."""
    offset = 0
    lines = output.split(b"\n")
    for number, line in enumerate(lines, 1):
        if number < len(lines) or line:
            text = re.sub(
                "[\udc80-\udcff]", "\ufffd", line.removesuffix(b"\r").decode("utf-8", "surrogateescape")
            )
            if found(text):
                yield number, offset, text
        offset += len(line) + 1


def shown(lines):
    return [(line.line, line.offset, line.text) for line in lines]


@pytest.fixture
def small_pieces(monkeypatch):
    monkeypatch.setattr("anubis.search.pieces.PIECE_BYTES", 16)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(
    outputs=st.lists(OUTPUT, min_size=1, max_size=4),
    pattern=TEXTS,
    ignore_case=st.booleans(),
    limit=st.integers(1, 5),
)
def test_the_index_finds_what_a_search_of_everything_finds(
    home, small_pieces, outputs, pattern, ignore_case, limit
):
    def contains(text):
        fold = (lambda each: each.encode().lower()) if ignore_case else str.encode
        return fold(pattern) in fold(text)

    benchmark = replace(a_descriptor(), info=replace(a_descriptor().info, name=f"b{id(outputs)}"))
    runs = [home.add(descriptor=benchmark, at_s=float(at)) for at in range(len(outputs))]
    for run, output in zip(runs, outputs, strict=True):
        home.write(run, output)
    ids = tuple(run.id for run in runs)
    expected = [each for output in reversed(outputs) for each in grep(output, contains)]
    conditions = {"ignore_case": ignore_case, "limit": limit, "run_ids": ids}
    assert shown(home.search(pattern, **conditions)) == expected
    home.index()
    assert home.store.log_index.of(ids).keys() == set(ids)
    assert shown(home.search(pattern, **conditions)) == expected


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=15)
@given(output=OUTPUT, pattern=REGEXES)
def test_a_regular_expression_finds_what_it_finds_in_each_line(home, small_pieces, output, pattern):
    run = home.add()
    home.write(run, output)
    expected = list(grep(output, re.compile(pattern).search))
    assert shown(home.search(pattern, regex=True, run_ids=(run.id,))) == expected
    home.index()
    assert shown(home.search(pattern, regex=True, run_ids=(run.id,))) == expected


def test_lines_across_the_borders_of_pieces_are_whole(home):
    long = (
        b"y" * (PIECE_BYTES - 3)
        + b"needle and more\n"
        + b"z" * 2 * PIECE_BYTES
        + b"needle\n"
        + b"a\n" * PIECE_BYTES
        + b"needle"
    )
    run = home.add()
    home.write(run, long)
    found = home.search("needle")
    assert [line.line for line in found] == [1, 2, 3 + PIECE_BYTES]
    assert all(line.text[slice(*line.highlights[0])] == "needle" for line in found)
    assert found[0].cut[0] > 0
    home.index()
    assert home.search("needle") == found


def test_a_longer_line_is_cut_and_searched(home):
    run = home.add()
    home.write(run, b"q" * (LONGEST_LINE + 100) + b"needle\n")
    assert [line.line for line in home.search("needle")] == [2]


def test_conditions_on_runs_streams_and_replicas(home):
    first, second = home.add(at_s=1, family_id="f1"), home.add(at_s=2)
    home.write(first, b"needle 1\n", b"needle 2\n")
    home.write(first, b"needle 3\n", role="worker", rank=3)
    home.write(first, b"needle 4\n", attempt=2)
    home.write(second, b"needle 5\n")

    def numbers(**conditions):
        return [int(line.text[-1]) for line in home.search("needle", **conditions)]

    for _ in range(2):
        assert numbers() == [5, 1, 2, 3, 4]
        assert numbers(run_ids=(first.id,), streams=("stderr",)) == [2]
        assert numbers(role="worker") == [3]
        assert numbers(rank=3) == [3]
        assert numbers(family_id="f1") == [1, 2, 3, 4]
        assert numbers(benchmark="none") == []
        home.index()


def test_conditions_on_time(home):
    run = home.add()
    times = [("stdout", 9, NOW_S + 10), ("stderr", 3, NOW_S + 11), ("stdout", 18, NOW_S + 20)]
    home.write(run, b"needle 1\nneedle 2\nneedle 3\n", b"no\n", times=times)
    for _ in range(2):
        found = home.search("needle", until_s=NOW_S + 21)
        assert [(line.line, line.time_s) for line in found] == [(1, NOW_S + 10), (2, NOW_S + 20)]
        assert [line.line for line in home.search("needle", since_s=NOW_S + 11)] == [2, 3]
        home.index()


def test_lines_around_a_line(home):
    run = home.add()
    home.write(run, b"1\n2\nneedle\n4\nneedle")
    first, second = home.search("needle", context=3)
    assert (first.before, first.after) == (("1", "2"), ("4", "needle"))
    assert (second.before, second.after) == (("2", "needle", "4"), ())


def test_a_page_continues_where_the_last_one_ended_although_runs_are_added(home):
    runs = [home.add(at_s=float(at)) for at in range(3)]
    for run in runs:
        home.write(run, b"needle\n" * 5)
    home.index()
    seen = []
    for page in home.pages("needle", limit=2):
        seen += [(line.run_id, line.line) for line in page.lines]
        home.write(home.add(at_s=100.0), b"needle\n")
    assert seen == [(run.id, line) for run in reversed(runs) for line in range(1, 6)]


def test_a_page_ends_after_a_while_and_the_search_continues(home, monkeypatch):
    monkeypatch.setattr(searching, "LONGEST_PAGE_S", 0.0)
    for at in range(3):
        home.write(home.add(at_s=float(at)), b"hay\n" if at else b"needle\n")
    pages = list(home.pages("e"))
    assert [len(page.lines) for page in pages] == [0, 0, 1]


def test_a_run_that_still_writes_is_searched(home):
    run = home.add(status=Status.WATCH)
    home.write(run, b"needle 1\nneed")
    home.index()
    assert [line.text for line in home.search("needle")] == ["needle 1"]
    home.write(run, b"needle 1\nneedle 2")
    assert [line.text for line in home.search("needle")] == ["needle 1", "needle 2"]


def test_packed_and_purged_runs(home):
    packed, purged = home.add(at_s=2), home.add(at_s=1)
    for run in (packed, purged):
        home.write(run, b"needle\n")
    home.index()
    home.records.pack(packed.id)
    home.store.runs.remove([purged.id])
    assert [line.run_id for line in home.search("needle")] == [packed.id]
    assert home.store.log_index.of([purged.id]) == {}


def test_a_record_that_is_not_here_is_named(home, tmp_path):
    run = home.add()
    home.write(run, b"needle\n")
    home.index()
    shutil.rmtree(tmp_path / "records" / run.id)
    (page,) = home.pages("needle")
    assert (page.lines, [each.run_id for each in page.unsearched]) == ((), [run.id])
    elsewhere = home.add(at_s=1)
    home.index()
    assert home.store.log_index.of([elsewhere.id]) == {}
    (page,) = home.pages("needle")
    assert elsewhere.id in {each.run_id for each in page.unsearched}


def test_folders_that_a_benchmark_made_in_its_record_are_left_out(home, tmp_path):
    run = home.add()
    home.write(run, b"needle\n")
    odd = tmp_path / "records" / run.id / "a1" / "not a role" / "0"
    odd.mkdir(parents=True)
    (odd / "stdout").write_text("needle\n")
    home.index()
    assert len(home.search("needle")) == 1


@pytest.mark.parametrize(
    ("pattern", "regex", "said"),
    [
        ("(a", True, "not a regular expression"),
        ("", False, "0 characters"),
        ("a\nb", False, "line end"),
        ("a" * 2000, True, "2000 characters"),
        ("(" * 900 + ")" * 900, True, "not a regular|characters"),
    ],
)
def test_patterns_that_are_not_valid(home, pattern, regex, said):
    with pytest.raises(BadInputError, match=said):
        home.search(pattern, regex=regex)


def test_a_catastrophic_pattern_ends_with_an_error(home, monkeypatch):
    monkeypatch.setattr("anubis.search.matchers.LIMIT_S", 0.1)
    run = home.add()
    home.write(run, b"a" * 40 + b"b\n")
    with pytest.raises(BadInputError, match="takes too long"):
        home.search("(a+)+$", regex=True)


def test_the_index_is_derived_again(home):
    run = home.add()
    home.write(run, b"needle\n")
    home.index()
    before = home.store.log_index.of([run.id])
    home.store.log_index.forget([run.id])
    assert [each.run_id for each in home.store.log_index.missing()] == [run.id]
    assert home.indexer.rebuild(run) == 7
    assert home.store.log_index.of([run.id]) == before
    assert home.store.log_index.missing() == []


def test_limits_of_a_query():
    with pytest.raises(BadInputError):
        LogQuery(pattern="a", limit=0)
    with pytest.raises(BadInputError):
        LogQuery(pattern="a", streams=("emit",))
