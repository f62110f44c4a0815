import pytest

from anubis.model.ids import new_run_id
from anubis.record import layout

A_RUN = "01890a5d-ac96-774b-bcce-b302099a8057"


def test_every_role_has_a_folder_of_its_own():
    run_id = new_run_id()
    assert layout.role_folder("/records", run_id, 1) == f"/records/{run_id}/a1/benchmark/0"
    assert layout.role_folder("/records", run_id, 2, "server", 3) == f"/records/{run_id}/a2/server/3"


@pytest.mark.parametrize("attempt", [1, 10, 999_999_999])
def test_an_attempt_has_a_name(attempt):
    assert layout.attempt_of(layout.attempt_name(attempt)) == attempt


@pytest.mark.parametrize("name", ["", "a", "a0", "a01", "b1", "a1.tar.zst", "a1\n", "a" + "9" * 30, "a١"])
def test_other_names_are_no_attempts(name):
    assert layout.attempt_of(name) is None


@pytest.mark.parametrize("text", ["", "x", A_RUN + "\n", A_RUN[:-1], "../" + A_RUN])
def test_other_texts_are_no_run_ids(text):
    assert not layout.is_run_id(text)
    with pytest.raises(ValueError, match="not a run id"):
        layout.role_folder("/records", text, 1)


@pytest.mark.parametrize("role", ["", "a b", "a/b", "..", "a\n", "r" * 101])
def test_a_role_is_a_word(role):
    with pytest.raises(ValueError, match="no record has"):
        layout.check_role(1, role, 0)


def test_file_names_may_hold_what_file_systems_allow():
    for name in ("stdout", "work/a b/ü.bin", "work/.hidden", "work/\udcff", "work/..x"):
        layout.check_file(name)


def test_every_file_is_replicated_in_one_way():
    assert set(layout.REPLACED_IN_ORDER) == layout.REPLACED
    assert layout.REPLACED.isdisjoint(layout.GROWING)
    assert layout.REPLACED_IN_ORDER[-1] == layout.EXIT
    assert layout.GROWING.index(layout.LINES) > max(map(layout.GROWING.index, layout.STREAMS))
