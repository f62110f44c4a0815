"""Writes of several threads in one transaction, with a gate in place of the database."""

import threading
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager

import pytest

from anubis.model.errors import AnubisError, BadInputError, StoreError
from anubis.store.sql import grouping
from anubis.store.sql.grouping import Grouping
from support.processes import until


class Written:
    """A store whose first write waits until the gate is open."""

    def __init__(self, most=50):
        self.gate = threading.Event()
        self.groups = []
        self.refused = {}
        self.grouping = Grouping(self.write, most=most)

    def write(self, items):
        self.groups.append(list(items))
        if len(self.groups) == 1:
            self.gate.wait()
        for item in items:
            if item in self.refused:
                raise self.refused[item]

    @contextmanager
    def waiting(self, *items):
        """The results of writes that arrive, one after the other, while the first one is in progress."""
        with ThreadPoolExecutor(len(items) + 1) as threads:
            first = threads.submit(self.grouping.store, "first")
            until(lambda: self.groups, "the first is being written")
            results = []
            for count, item in enumerate(items, 1):
                results.append(threads.submit(self.grouping.store, item))
                until(lambda count=count: len(self.grouping._waiting) == count, "it waits")
            try:
                yield results
            finally:
                self.gate.set()
                wait([first, *results])
            first.result()


@pytest.fixture
def written():
    return Written()


def test_what_arrives_during_a_write_is_written_together(written):
    with written.waiting("a", "b", "c") as results:
        assert not any(result.done() for result in results)
    assert [result.result() for result in results] == [None] * 3
    assert written.groups == [["first"], ["a", "b", "c"]]


def test_a_group_has_at_most_so_many_items():
    written = Written(most=2)
    with written.waiting(*"abcde"):
        pass
    assert written.groups == [["first"], ["a", "b"], ["c", "d"], ["e"]]


def test_an_item_that_is_refused_does_not_affect_the_others(written):
    written.refused["b"] = BadInputError("no such project")
    with written.waiting("a", "b", "c") as (a, b, c):
        pass
    assert (a.result(), c.result()) == (None, None)
    with pytest.raises(BadInputError, match="no such project"):
        b.result()
    assert written.groups[1] == ["a", "b", "c"]
    assert sorted(written.groups[2:]) == [["a"], ["b"], ["c"]], "each is written again, without the others"


def test_a_single_item_that_is_refused_is_written_once(written):
    written.refused["a"] = StoreError("the disk is full")
    with written.waiting("a") as (a,):
        pass
    with pytest.raises(StoreError, match="full"):
        a.result()
    assert written.groups == [["first"], ["a"]]


def test_a_thread_that_ends_while_it_writes_does_not_take_the_others_with_it(written):
    original = written.write

    def interrupted(items):
        original(items)
        if items == ["a", "b", "c"]:
            raise KeyboardInterrupt

    written.grouping._write = interrupted
    with written.waiting("a", "b", "c") as (a, b, c):
        pass
    with pytest.raises(KeyboardInterrupt):
        a.result()
    assert (b.result(), c.result()) == (None, None)
    assert sorted(written.groups[2:]) == [["b"], ["c"]]


class Interrupted(threading.Event):
    """An event whose waiting thread is interrupted."""

    def __init__(self, when):
        super().__init__()
        self.when = when

    def wait(self, timeout=None):
        self.when.wait() if self.when else super().wait(timeout)
        raise KeyboardInterrupt


@pytest.mark.parametrize("chosen", [True, False], ids=["as the next writer", "in the queue"])
def test_an_interrupted_thread_does_not_hold_up_the_others(written, monkeypatch, chosen):
    class Member(grouping._Member):
        def __init__(self, item):
            super().__init__(item)
            if item == "a":
                self.turn = Interrupted(None if chosen else interrupt)

    interrupt = threading.Event()
    monkeypatch.setattr(grouping, "_Member", Member)
    with written.waiting("a", "b") as (a, b):
        if not chosen:
            interrupt.set()
            until(a.done, "it is interrupted")
    with pytest.raises(KeyboardInterrupt):
        a.result()
    assert b.result() is None
    assert written.groups == [["first"], ["b"]]


def test_every_item_of_many_threads_is_stored_once():
    stored, lock = [], threading.Lock()

    def write(items):
        if len(items) > 1 and any(item % 7 == 0 for item in items):
            raise BadInputError("not together")
        if items[0] % 7 == 0:
            raise BadInputError(str(items[0]))
        with lock:
            stored.extend(items)

    together = Grouping(write, most=5)

    def store(item):
        try:
            together.store(item)
        except AnubisError as error:
            return error.message
        return None

    with ThreadPoolExecutor(20) as threads:
        results = list(threads.map(store, range(700)))
    assert results == [str(item) if item % 7 == 0 else None for item in range(700)]
    assert sorted(stored) == [item for item in range(700) if item % 7]
