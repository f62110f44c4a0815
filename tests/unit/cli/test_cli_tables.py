import click
from hypothesis import given
from hypothesis import strategies as st

from anubis.cli.views import tables
from anubis.cli.views.tables import Column, Styled

TEXT = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=40)


def drawn(columns, rows, width=None):
    return [click.unstyle(line) for line in tables.lines(columns, rows, width=width)]


def test_figures_stand_at_the_right_and_words_at_the_left():
    columns = [Column(title="NAME"), Column(title="VALUE", right=True), Column(title="UNIT")]
    assert drawn(columns, [["a", "1.5", "s"], ["longer", "100", "img/s"]]) == [
        "NAME    VALUE  UNIT",
        "a         1.5  s",
        "longer    100  img/s",
    ]


def test_a_column_without_anything_is_left_out():
    columns = [Column(title="A"), Column(title="B"), Column(title="C")]
    assert drawn(columns, [["1", "", "3"]]) == ["A  C", "1  3"]


def test_a_colour_takes_no_room():
    columns = [Column(title="S"), Column(title="T")]
    plain = drawn(columns, [["ok", "x"], ["failed", "y"]])
    assert drawn(columns, [[Styled("ok", "green"), "x"], [Styled("failed", "red"), "y"]]) == plain


@given(st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=5), st.integers(30, 100))
def test_what_may_be_cut_fits_the_terminal(rows, width):
    columns = [Column(title="A", cut=True), Column(title="B", cut=True)]
    assert all(len(line) <= width for line in drawn(columns, rows, width))


@given(st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=5))
def test_nothing_is_cut_where_the_output_is_piped(rows):
    columns = [Column(title="A", cut=True), Column(title="B", cut=True)]
    lines = drawn(columns, rows)[1:]
    assert [tuple(line.split()) for line in lines] == [tuple(row) for row in rows]


@given(st.text(max_size=50), st.integers(2, 60))
def test_clipped_text_fits_and_shows_that_something_is_missing(text, width):
    cut = tables.clipped(text, width)
    assert len(cut) <= width
    assert cut == text or cut.endswith("..")


def test_pairs_without_a_value_are_left_out():
    lines = [click.unstyle(line) for line in tables.pairs([("run", "1"), ("reason", ""), ("status", "ok")])]
    assert lines == ["run     1", "status  ok"]
