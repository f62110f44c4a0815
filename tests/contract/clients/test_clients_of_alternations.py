"""One contract for every client: alternations."""

import uuid

import pytest

from anubis.alternation.judgement import End
from anubis.alternation.plan import Plan
from anubis.model.errors import BadInputError, ConflictError, NotFoundError
from anubis.model.verdict import Judgement


def test_an_alternation_is_measured_until_it_is_decided(client, embedded, bench):
    old, new = bench("echo score=100"), bench("echo score=120")
    warnings, states = [], []
    begun = client.alternations.begin([old, new], Plan(rounds=6), warned=lambda *each: warnings.append(each))
    assert begun.plan == Plan(rounds=6, files=(old.name, new.name))
    assert [row.cell["round"] for row in begun.runs] == [0, 0, 1, 1]
    state = client.alternations.proceed(begun, judged=states.append)
    assert (state.end, state.rounds, state.failed) == (End.DECIDED, 6, None)
    assert [each.rounds for each in states] == [2, 4, 6]
    (verdict,) = state.verdicts
    assert verdict.judgement not in {Judgement.UNDECIDED, Judgement.UNCHANGED}
    assert embedded.alternations.state(begun.family_id) == state
    assert client.alternations.proceed(client.alternations.get(state.alternation.runs[3].id)) == state


def test_rounds_that_are_asked_for_twice_are_stored_once(client, bench):
    begun = client.alternations.begin([bench(), bench()], Plan(rounds=6))
    first = client.alternations.extend(begun.family_id, after=2)
    again = client.alternations.extend(begun.runs[0].id, after=2)
    assert [row.id for row in first.runs] == [row.id for row in again.runs]
    assert (len(first.runs), first.rounds) == (8, 4)
    for after in (0, 1, 3, 6, 1000):
        with pytest.raises(BadInputError):
            client.alternations.extend(begun.family_id, after=after)
    client.runs.cancel([row.id for row in first.runs])


def test_a_failed_run_ends_it(client, bench):
    state = client.alternations.proceed(client.alternations.begin([bench(), bench("false")], Plan(rounds=6)))
    assert state.end is End.FAILED
    assert state.failed in state.alternation.runs


def test_what_is_no_alternation_is_refused(client, bench):
    (run,) = client.runs.submit([bench()])
    with pytest.raises(BadInputError, match="belongs to no alternation"):
        client.alternations.get(run.id)
    with pytest.raises(NotFoundError):
        client.alternations.get(str(uuid.uuid4()))
    with pytest.raises(BadInputError, match="these make 1 runs"):
        client.alternations.begin([bench()], Plan(rounds=6))
    with pytest.raises(NotFoundError, match="no value of metric 'none'"):
        client.alternations.proceed(
            client.alternations.begin([bench(), bench()], Plan(rounds=6, metrics=("none",)))
        )


def test_a_repeated_request_begins_one_alternation(client, bench):
    if not client.is_remote:  # only requests have keys
        return
    connection, key = client._connection, str(uuid.uuid4())
    body = {
        "descriptors": [{"text": file.read_text(), "folder": "/"} for file in (bench(), bench())],
        "rounds": 6,
    }
    first = connection.post("alternations", body, key=key)
    assert (
        connection.post("alternations", body, key=key)["alternation"]["family_id"]
        == (first["alternation"]["family_id"])
    )
    with pytest.raises(ConflictError):
        connection.post("alternations", {**body, "rounds": 8}, key=key)
    client.runs.cancel([row["id"] for row in first["alternation"]["runs"]])
