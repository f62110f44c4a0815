import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anubis.api.paging import cursor_after, page_of, run_before
from anubis.contracts.runs import RunQuery
from anubis.model.errors import BadInputError
from anubis.testing import FakeStore, a_run
from anubis.testing.builders import NOW_S


@given(st.uuids())
def test_a_cursor_names_its_run(run_id):
    cursor = cursor_after(str(run_id))
    assert run_before(cursor) == str(run_id)
    assert len(cursor) == 22


@given(st.text(max_size=40))
def test_any_other_text_is_refused(text):
    try:
        run_id = run_before(text)
    except BadInputError:
        return
    assert cursor_after(run_id) == text, "no two cursors name one run"


@pytest.mark.parametrize(
    "cursor", ["", "A" * 22 + "==", "B" * 22, cursor_after(str(uuid.UUID(int=7)))[:-1] + "+", "ä"]
)
def test_a_changed_cursor_is_refused(cursor):
    with pytest.raises(BadInputError, match="cursor"):
        run_before(cursor)


@pytest.mark.parametrize("limit", [1, 2, 4, 5, 9])
def test_pages_together_are_the_listing(limit):
    runs = FakeStore().runs
    runs.add([(a_run(created_s=NOW_S + at // 2), "text") for at in range(5)], [])
    seen, after, pages = [], None, 0
    while True:
        page = page_of(runs.find(RunQuery(after=after, limit=limit + 1)), limit)
        assert len(page.rows) <= limit
        seen += page.rows
        pages += 1
        if page.next is None:
            break
        after = run_before(page.next)
    assert seen == runs.find(RunQuery())
    assert pages == -(-5 // limit), "the last page is not empty"


def test_an_empty_listing_has_one_page():
    page = page_of([], 10)
    assert (list(page.rows), page.next) == ([], None)
