"""Samples whose bits changed in the database: reading them names run and metric, and the record has them still."""

import sqlite3
from contextlib import closing

import pytest

METRIC = """[[output.metrics]]
name = "loss"
units = "1"
pattern = 'loss=(\\d+)'
"""


@pytest.fixture
def run_id(anubis):
    file = anubis.write("train.toml", "sh -c 'for i in 1 2 3; do echo loss=$i; done'", more=METRIC)
    assert anubis("run", file).returncode == 0
    return anubis.json("history")[0]["id"]


def change(anubis, statement):
    with closing(sqlite3.connect(anubis.home / "anubis.db")) as connection, connection:
        connection.create_function("flip", 1, lambda body: body[:-1] + bytes([body[-1] ^ 4]))
        assert connection.execute(statement).rowcount == 1


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("UPDATE samples SET body = flip(body)", "the checksum of the samples from 0 on differs"),
        ("UPDATE samples SET start = 1", "samples from 0 on are missing"),
    ],
)
def test_damaged_samples_are_noticed_and_read_from_the_record_again(anubis, run_id, statement, problem):
    before = anubis.json("results", run_id, "--samples", "loss")
    change(anubis, statement)

    ended = anubis("results", run_id, "--samples", "loss")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert f'the stored samples of "loss" of run {run_id} are damaged: {problem}' in ended.stderr
    assert f"anubis record extract {run_id}" in ended.stderr
    checked = anubis("doctor", "--database")
    assert (checked.returncode, f'"loss" of run {run_id}' in checked.stderr) == (2, True), checked

    extracted = anubis("record", "extract", run_id)
    assert (extracted.returncode, extracted.stdout) == (0, "loss\n")
    assert anubis.json("results", run_id, "--samples", "loss") == before
    assert anubis("doctor", "--database").returncode == 0


def test_other_values_of_the_run_can_still_be_read(anubis, run_id):
    change(anubis, "UPDATE samples SET body = flip(body)")
    assert anubis("results", run_id).returncode == 0
    assert anubis("history").returncode == 0


def test_samples_are_not_replaced_without_a_record(anubis, run_id):
    (anubis.home / "records" / run_id).rename(anubis.folder / "elsewhere")
    ended = anubis("record", "extract", run_id)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "has no record on this machine" in ended.stderr
    assert len(anubis.json("results", run_id, "--samples", "loss")) == 3
