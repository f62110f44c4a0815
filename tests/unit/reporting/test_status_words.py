from dataclasses import replace

from anubis.model.status import Phase, Status
from anubis.reporting.status_words import WORDS, word_of
from anubis.testing.builders import a_run


def test_a_run_without_a_machine_waits():
    placed = a_run(status=Status.WATCH)
    assert word_of(placed) == "running"
    assert word_of(replace(placed, phase=Phase.QUEUE)) == "waiting"
    assert word_of(replace(placed, phase=Phase.RUN)) == "running"


def test_every_status_has_a_word():
    assert WORDS.keys() == {*Status}
