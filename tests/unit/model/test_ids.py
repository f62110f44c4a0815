import uuid

from hypothesis import given
from hypothesis import strategies as st

from anubis.model.ids import SHORTEST, derived_run_id, new_run_id, short_id

#: Ids that share long prefixes, as runs of one millisecond do.
IDS = st.builds(
    lambda head, tail: str(uuid.UUID(int=(head << 124) | tail)), st.integers(0, 3), st.integers(0, 1 << 20)
)


@given(st.sets(IDS, min_size=1, max_size=20))
def test_a_short_id_names_one_run_and_no_shorter_one_would(ids):
    for run_id in ids:
        short = short_id(run_id, ids - {run_id})
        assert [other for other in ids if other.startswith(short)] == [run_id]
        assert len(short) >= SHORTEST
        assert not short.endswith("-")
        shorter = short[:-1].rstrip("-")
        assert len(shorter) < SHORTEST or sum(other.startswith(shorter) for other in ids) > 1


def test_new_ids_are_short():
    ids = [new_run_id() for _ in range(100)]
    assert {len(short_id(one, [other for other in ids if other != one])) for one in ids} == {SHORTEST}


def test_runs_that_one_run_causes_for_two_reasons_stay_apart():
    first, second = (derived_run_id("01234567-89ab-7000-8000-000000000000", words, 0) for words in "ab")
    assert first[:SHORTEST] == second[:SHORTEST], "they share a millisecond"
    assert short_id(first, [second]) != short_id(second, [first])


@given(st.text(max_size=20), st.integers(0, 1000))
def test_a_derived_id_is_a_time_ordered_uuid_after_its_cause(words, number):
    cause = new_run_id()
    derived = uuid.UUID(derived_run_id(cause, words, number))
    assert (derived.version, derived.variant) == (7, uuid.RFC_4122)
    assert str(derived) > cause
