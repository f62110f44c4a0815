from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from anubis.model.history import Measurement
from anubis.testing import FakeStore, a_point, a_run
from anubis.transfer.histories import Added, Findings, store, to_points
from anubis.transfer.joining import Joined, differ

#: (time of the run, metric): a value follows from both, so no two contradict.
VALUES = st.lists(st.tuples(st.integers(1, 4), st.sampled_from("abc")), unique=True)


def history(values):
    measurements = [
        Measurement(benchmark="fft", metric=metric, value=time_s + ord(metric) / 7, time_s=float(time_s))
        for time_s, metric in values
    ]
    return to_points(measurements, origin="csv", owner="me", findings=Findings())


@given(values=VALUES, cuts=st.lists(st.integers(0, 12), max_size=3), order=st.randoms())
def test_however_values_are_split_over_files_the_same_is_stored(values, cuts, order):
    whole = FakeStore()
    store(whole.runs, whole.points, history(values))

    marks = sorted({0, *cuts, len(values)})
    files = [values[low:high] for low, high in pairwise(marks)]
    order.shuffle(files)
    split, findings = FakeStore(), Findings()
    for file in [*files, *files]:
        joined = Joined(split.points, findings)
        joined.add(history(file))
        store(split.runs, split.points, joined.history)
    assert findings.problems == ()
    assert {(p.run_id, p.metric, p.value, p.series_key) for p in _points(split)} == {
        (p.run_id, p.metric, p.value, p.series_key) for p in _points(whole)
    }


def _points(opened):
    ids = [run.id for run, _ in history([(n, m) for n in range(1, 5) for m in "abc"]).runs]
    return opened.points.of(ids)


def test_what_was_added_is_counted():
    opened = FakeStore()
    assert store(opened.runs, opened.points, history([(1, "a")])) == Added(runs=1, values=1)
    again = history([(1, "a"), (1, "b"), (1, "c"), (2, "a")])
    assert store(opened.runs, opened.points, again) == Added(runs=1, values=3, joined=1)
    assert store(opened.runs, opened.points, again) == Added()


def test_the_last_digit_of_a_text_is_no_other_value():
    run = a_run()
    one = a_point(run, value=0.1 + 0.2)
    assert not differ(one, a_point(run, value=0.3))
    assert differ(one, a_point(run, value=0.300001))
    assert differ(a_point(run, value=0.0), a_point(run, value=1e-300))
    assert differ(one, a_point(run, value=0.3, units="h"))
