import pytest
from hypothesis import given
from hypothesis import strategies as st

from anubis.model.labels import SYSTEM_LABELS, is_label, is_reserved, slug


@pytest.mark.parametrize("text", ["a", "7", "resnet50-train", "a.b_c-d", "x" * 63])
def test_labels(text):
    assert is_label(text)


@pytest.mark.parametrize("text", ["", "-a", "a-", "a b", "a/b", "ü", "x" * 64, "a\n", ".a"])
def test_what_is_no_label(text):
    assert not is_label(text)


@given(st.text())
def test_a_slug_is_a_label_or_nothing(text):
    assert slug(text) == "" or is_label(slug(text))


@given(st.from_regex(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?", fullmatch=True))
def test_a_label_is_its_own_slug(text):
    assert slug(text) == text


@pytest.mark.parametrize("name", [*sorted(SYSTEM_LABELS), "Action_ID", "run.id", "anubis", "anubis_anything"])
def test_names_of_the_system(name):
    assert is_reserved(name)


@pytest.mark.parametrize("name", ["team", "anubisish", "runid", "action"])
def test_names_for_everybody(name):
    assert not is_reserved(name)
