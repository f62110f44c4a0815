import json
from array import array

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from anubis.contracts.records import RecordKey, RoleFiles
from anubis.model.errors import BadInputError
from anubis.record.samples import HEADER, NO_STEP, SERIES, STATE, Columns, block, frame
from anubis.search import samples
from anubis.search.samples import SampleFollower, SamplePlace

#: Frames of two series, and states, in any order.
FRAMES = st.lists(st.sampled_from(["a", "b", "state"]), max_size=20)


def columns(metric, values):
    found = Columns(metric, "s")
    for value in values:
        found.append(value, 0.0, NO_STEP, 0)
    return found


def written(frames):
    """The bytes of a file with these frames, and the values of each metric before the last state."""
    data, expected, settled = HEADER, {"a": [], "b": []}, {"a": [], "b": []}
    for number, metric in enumerate("ab"):
        declared = json.dumps({"id": number, "metric": metric, "units": "s", "labels": {}})
        data += frame(SERIES, declared.encode())
    for at, kind in enumerate(frames):
        if kind == "state":
            data += frame(STATE, b"{}")
            settled = {metric: list(values) for metric, values in expected.items()}
        else:
            data += block("ab".index(kind), columns(kind, [float(at)] * 3))
            expected[kind] += [float(at)] * 3
    return data, settled


def follower_of(home, run, place, metrics=()):
    return SampleFollower(
        lambda attempt, *key: RoleFiles(home.records, RecordKey(run.id, attempt, *key)), place, metrics
    )


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(frames=FRAMES, cuts=st.lists(st.booleans(), max_size=20), only=st.sampled_from([(), ("a",)]))
def test_settled_samples_are_read_once_whoever_continues(home, monkeypatch, frames, cuts, only):
    monkeypatch.setattr(samples, "BATCH_BYTES", 1)
    data, expected = written(frames)
    run = home.add()
    home.records.append(RecordKey(run.id, 1), "samples", 0, data)
    follower, found, cuts = follower_of(home, run, SamplePlace(1), only), {"a": [], "b": []}, iter(cuts)
    follower.add([("benchmark", 0)])
    while batch := follower.batch(last=False):
        for each in batch:
            found[each.samples.metric] += each.samples.values
        if next(cuts, False):
            follower = follower_of(home, run, SamplePlace.of(str(follower.place)), only)
    assert found == {
        metric: values if metric in (only or "ab") else [] for metric, values in expected.items()
    }


def test_a_file_that_does_not_exist_yet_has_no_samples(home):
    run = home.add()
    follower = follower_of(home, run, SamplePlace(1))
    follower.add([("benchmark", 0)])
    assert follower.batch(last=True) == []
    home.records.append(RecordKey(run.id, 1), "samples", 0, written(["a", "state"])[0])
    (each,) = follower.batch(last=False)
    assert each.samples.values == array("d", [0.0] * 3)


@pytest.mark.parametrize("text", ["", "0:", "1:benchmark.0", "1:benchmark.0.1.2", "a"])
def test_other_texts_are_no_places(text):
    with pytest.raises(BadInputError, match="not a place"):
        SamplePlace.of(text)
