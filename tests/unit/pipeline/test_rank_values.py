"""Values of several ranks, and of a server during the repeats of its client."""

from array import array
from types import SimpleNamespace

import pytest

from anubis.model.metric import Metric, Ranks, Summary
from anubis.model.points import NO_STEP, SampleBlock
from anubis.pipeline.rank_values import _Rank, reduce, timed, together
from anubis.pipeline.summarise import Measured


def block(rows, units="1/s"):
    """Rows of (repeat, value); the n-th one arrives at n seconds."""
    repeats, values = zip(*rows, strict=True)
    return SampleBlock(
        metric="rate",
        units=units,
        values=array("d", values),
        times_s=array("d", range(len(rows))),
        steps=array("q", [NO_STEP] * len(rows)),
        repeats=array("i", repeats),
    )


def ranks(*rows):
    """One rank for each list of rows; None: it has no sample."""
    return [
        _Rank(f"worker {rank}", None, {} if each is None else {"rate": block(each)})
        for rank, each in enumerate(rows)
    ]


@pytest.mark.parametrize(
    ("rule", "value"), [(Ranks.SUM, 13.0), (Ranks.MAX, 8.0), (Ranks.MIN, 5.0), (Ranks.MEAN, 6.5)]
)
def test_each_rank_is_summarised_first(rule, value):
    metric = Metric(name="rate", summary=Summary.LAST, ranks=rule)
    found, problem = reduce(metric, ranks([(0, 1.0), (0, 5.0)], [(0, 9.0), (0, 8.0)]))
    assert (list(found.values), list(found.repeats), problem) == ([value], [0], "")
    assert list(found.times_s) == [1.0]


def test_counts_of_ranks_are_added_up():
    metric = Metric(name="rate", summary=Summary.COUNT, ranks=Ranks.SUM)
    found, _ = reduce(metric, ranks([(0, 1.0), (0, 5.0)], [(0, 9.0)]))
    assert list(found.values) == [3.0]


def test_a_repeat_without_a_value_of_every_rank_is_left_out_and_named():
    metric = Metric(name="rate", ranks=Ranks.SUM)
    found, problem = reduce(metric, ranks([(0, 1.0), (1, 2.0)], [(0, 3.0)], None))
    assert list(found.values) == []
    assert "worker 2 in repeat 0" in problem
    found, problem = reduce(metric, ranks([(0, 1.0), (1, 2.0)], [(0, 3.0)]))
    assert list(found.values) == [4.0]
    assert "worker 1 in repeat 1" in problem


def test_a_warm_up_may_lack_values():
    found, problem = reduce(Metric(name="rate", ranks=Ranks.SUM), ranks([(-1, 1.0), (0, 2.0)], [(0, 3.0)]))
    assert (list(found.values), problem) == ([5.0], "")


def test_samples_of_a_server_belong_to_the_repeat_that_had_started():
    executions = [
        SimpleNamespace(repeat=repeat, started_s=at) for repeat, at in ((1, 5.0), (-1, 1.0), (0, 3.0))
    ]
    found = timed(block([(0, 7.0)] * 8), executions)
    assert list(found.repeats) == [0, -1, -1, 0, 0, 1, 1, 1]


def measured(repeat, wall_s, tree=None):
    return Measured(repeat=repeat, wall_s=wall_s, cpu_s=1.0, peak_process_bytes=2.0, peak_tree_bytes=tree)


def test_all_ranks_together_take_as_long_as_the_slowest_and_use_what_all_use():
    (one, other) = together(
        [measured(0, 3.0, 10.0), measured(1, 3.0)], [[measured(0, 4.0, 5.0), measured(1, 2.0, 5.0)]]
    )
    assert (one.wall_s, one.cpu_s, one.peak_tree_bytes, one.peak_process_bytes) == (4.0, 2.0, 15.0, 2.0)
    assert (other.wall_s, other.peak_tree_bytes) == (3.0, None)
