import base64
from collections import defaultdict

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from anubis.contracts.records import RecordKey, RoleFiles
from anubis.model.errors import BadInputError
from anubis.search import following
from anubis.search.following import OutputLine, Place, RunFollower, line_from_json, line_to_json
from anubis.testing.builders import NOW_S

STREAMS = ("stdout", "stderr")
#: (replica, stream, bytes) in the order of arrival.
WRITES = st.lists(
    st.tuples(
        st.sampled_from([("benchmark", 0), ("worker", 1)]),
        st.sampled_from(STREAMS),
        st.sampled_from([b"a", b"b\n", b"\n", b"c\nd", b"\xff\n", b"e\n" * 5, b"long" * 9]),
    ),
    max_size=25,
)


def written(home, writes):
    """A run with this output and its time index; the lines of each replica and stream."""
    run = home.add()
    outputs, times = defaultdict(lambda: dict.fromkeys(STREAMS, b"")), defaultdict(list)
    for at, (replica, stream, data) in enumerate(writes):
        outputs[replica][stream] += data
        times[replica].append((stream, len(outputs[replica][stream]), NOW_S + at))
    for (role, rank), output in outputs.items():
        home.write(run, output["stdout"], output["stderr"], role=role, rank=rank, times=times[role, rank])
    expected = {
        (*replica, stream): data.split(b"\n") if not data.endswith(b"\n") else data.split(b"\n")[:-1]
        for replica, output in outputs.items()
        for stream, data in output.items()
        if data
    }
    return run, expected


def follower_of(home, run, place):
    return RunFollower(
        lambda attempt, *key: RoleFiles(home.records, RecordKey(run.id, attempt, *key)), place, STREAMS
    )


def by_stream(lines):
    found = defaultdict(list)
    for line in lines:
        found[line.role, line.rank, line.stream].append(line.line)
    return found


@pytest.fixture
def small_batches(monkeypatch):
    monkeypatch.setattr(following, "BATCH_BYTES", 6)
    monkeypatch.setattr(following, "PIECE_BYTES", 3)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(writes=WRITES, cuts=st.lists(st.booleans(), max_size=30))
def test_nothing_is_lost_or_repeated_when_another_process_continues(home, small_batches, writes, cuts):
    run, expected = written(home, writes)
    replicas = {(role, rank) for role, rank, _ in expected}
    follower, lines, cuts = follower_of(home, run, Place(1)), [], iter(cuts)
    follower.add(replicas)
    for last in (False, True):
        while found := follower.batch(last=last):
            lines += found
            if next(cuts, False):
                follower = follower_of(home, run, Place.of(str(follower.place)))
                follower.add(replicas)
    assert by_stream(lines) == expected


def test_lines_appear_while_they_are_written(home):
    run = home.add()
    home.write(run, b"one\ntw", times=[("stdout", 6, NOW_S)])
    follower = follower_of(home, run, Place(1))
    follower.add([("benchmark", 0)])
    assert [line.line for line in follower.batch(last=False)] == [b"one"]
    assert follower.batch(last=False) == []
    home.write(run, b"one\ntwo\nthr", times=[("stdout", 6, NOW_S), ("stdout", 11, NOW_S + 1)])
    (line,) = follower.batch(last=False)
    assert (line.line, line.time_ns) == (b"two", (NOW_S + 1) * 1e9)
    assert [line.line for line in follower.batch(last=True)] == [b"thr"]
    assert follower.batch(last=True) == []


def test_output_without_an_index_appears_at_the_end(home):
    run = home.add()
    home.write(run, b"one\ntwo\n")
    follower = follower_of(home, run, Place(1))
    follower.add([("benchmark", 0)])
    assert follower.batch(last=False) == []
    assert [line.line for line in follower.batch(last=True)] == [b"one", b"two"]


def test_a_long_line_is_divided(home, monkeypatch):
    monkeypatch.setattr(following, "LONGEST_LINE", 10)
    run = home.add()
    home.write(run, b"x" * 25 + b"\n", times=[("stdout", at, NOW_S) for at in (4, 12, 26)])
    follower = follower_of(home, run, Place(1))
    follower.add([("benchmark", 0)])
    found = b"".join(line.line for line in follower.batch(last=True))
    assert found == b"x" * 25


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1",
        "0:",
        "1:a",
        "1:benchmark.0.0.0",
        "1:benchmark.0.0.0.0.0",
        "x:",
        "1:benchmark.0.1.2.-3",
        "9" * 40 + ":",
    ],
)
def test_other_texts_are_no_places(text):
    with pytest.raises(BadInputError, match="not a place"):
        Place.of(text)


def test_lines_are_the_same_after_json():
    line = OutputLine(
        attempt=2, role="worker", rank=3, stream="stderr", time_ns=1_700_000_000_500_000_000, line=b"\xff a"
    )
    assert base64.b64decode(line_to_json(line)["base64"]) == b"\xff a"
    assert line_from_json(2, line_to_json(line)) == line
