from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from anubis.reporting.markup import code, one_line, person, short_subject

ANY_TEXT = st.text(
    alphabet=st.one_of(st.characters(), st.sampled_from("`|\\<>[]()*_#@!&\n\r\t\u202e\u200b")), max_size=60
)


@given(ANY_TEXT)
def test_one_line_is_one_bounded_line_that_can_be_encoded(text):
    line = one_line(text, 20)
    assert len(line) <= 20
    assert line == " ".join(line.split())
    assert line.isprintable()
    line.encode()


def test_a_reversed_reading_direction_is_removed():
    assert one_line("abc\u202edef\u2066") == "abcdef"


@given(ANY_TEXT)
def test_a_code_span_is_nothing_but_code_to_a_markdown_parser(text):
    (block,) = [
        token for token in MarkdownIt("commonmark").parse(f"x {code(text)} y") if token.type == "inline"
    ]
    shown = one_line(text, 120).replace("|", "¦")
    if shown:
        assert [token.type for token in block.children] == ["text", "code_inline", "text"]
        assert block.children[1].content == shown


@given(st.lists(ANY_TEXT, min_size=3, max_size=3))
def test_a_row_of_code_spans_keeps_its_cells(texts):
    table = f"|a|b|c|\n|---|---|---|\n| {' | '.join(map(code, texts))} |\n"
    tokens = MarkdownIt("commonmark").enable("table").parse(table)
    cells = [tokens[place + 1] for place, token in enumerate(tokens) if token.type == "td_open"]
    assert len(cells) == 3
    for cell, text in zip(cells, texts, strict=True):
        shown = one_line(text, 120).replace("|", "¦") or "(nothing)"
        assert [child.content for child in cell.children] == [shown]


def test_commits_are_cut_and_other_subjects_are_not():
    assert short_subject("3f2a91c04d1e" + "0" * 28) == "3f2a91c04d1e"
    assert short_subject("3f2a91c04d1e" + "0" * 28 + "-dirty") == "3f2a91c04d1e-dirty"
    assert short_subject("v2.1.0") == "v2.1.0"
    assert short_subject("") == ""


def test_a_person_has_a_name_and_an_old_hash_is_short():
    assert person("Ada Lovelace") == "Ada Lovelace"
    assert person("Ada\x1b[31m\nLovelace") == "Ada[31m Lovelace"
    assert person("0123456789abcdef0123456789abcdef01234567") == "01234567"
    assert person("0123456789abcdef") == "0123456789abcdef"
