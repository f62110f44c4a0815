"""Every key of a TOML text is found at its line and column, however the text is laid out."""

import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anubis.describe.paths import leaves
from anubis.describe.toml.positions import Lines, Scan

STRINGS = [
    '"plain"',
    r'"with \" quote # and \\"',
    "'C:\\path # [x] = 1'",
    '"""\nseveral\n[lines] = "" # none\n"""',
    '"""ends in two quotes"""""',
    "'''\n'' literal ''\n# text\n'''",
    "'''one''''",
    '""',
    "''",
]
SCALARS = ["1", "-1_000", "0x1F", "1e3", "nan", "true", "1979-05-27", "1979-05-27 07:32:00", "07:32:00.5"]
COMMENTS = ["", "  # a comment", '\t# "quoted" = [1, {']


class Writer:
    """Writes a document and notes on which line it wrote each key."""

    def __init__(self, draw):
        self.draw = draw
        self.text = ""
        self.lines = {}
        self.names = 0

    def choose(self, options):
        return self.draw(st.sampled_from(options))

    def key(self):
        """A key that is new in this document, and a way to write it."""
        self.names += 1
        name = self.choose([f"k{self.names}", f"{self.names}", f"a b.{self.names}", f"ü{self.names}"])
        forms = [f'"{name}"', f"'{name}'"]
        if name.isascii() and " " not in name:
            forms += [name, name, name]
        if name.startswith("ü"):
            forms.append(f'"\\u00FC{name[1:]}"')
        return name, self.choose(forms)

    def note(self, path):
        self.lines[path] = self.text.count("\n") + 1

    def key_value(self, table, depth, *, inline=False):
        path = table
        for last in [False] * self.choose([0, 0, 0, 1, 2]) + [True]:
            name, token = self.key()
            path = (*path, name)
            if last:
                self.note(path)
            self.text += token + ("" if last else self.choose([".", " . "]))
        self.text += self.choose([" = ", "=", "\t=  "])
        self.value(path, depth, inline=inline)

    def value(self, path, depth, *, inline):
        kind = self.choose(["scalar", "string", "array", "table"] if depth else ["scalar", "string"])
        if kind == "scalar":
            self.text += self.choose(SCALARS)
        elif kind == "string":
            self.text += self.choose([s for s in STRINGS if not (inline and "\n" in s)])
        elif kind == "array":
            self.array(path, depth, inline=inline)
        else:
            self.table(path, depth)

    def array(self, path, depth, *, inline):
        self.text += "["
        for index in range(self.choose([0, 1, 3])):
            self.text += "," if index else ""
            self.text += self.choose(["", " "] if inline else ["", " ", "\n  ", "  # why, [here\n\t"])
            self.note((*path, index))
            self.value((*path, index), depth - 1, inline=inline)
        self.text += self.choose(["", " "] if inline else ["", "\n", " # end ]\n"]) + "]"

    def table(self, path, depth):
        self.text += "{"
        for index in range(self.choose([0, 1, 2])):
            self.text += ", " if index else " "
            self.key_value(path, depth - 1, inline=True)
        self.text += " }"

    def statements(self, table):
        for _ in range(self.choose([0, 1, 3])):
            self.text += self.choose(["", "  ", "\n", "# comment = 1\n"])
            self.key_value(table, 2)
            self.text += self.choose(COMMENTS) + "\n"

    def document(self):
        self.statements(())
        listed = {}
        for _ in range(self.choose([0, 1, 2, 4])):
            if listed and self.draw(st.booleans()):
                self.section(listed, self.choose(list(listed)))
            else:
                self.section(listed, None)
        return self.text

    def section(self, listed, again):
        name, token = again or self.key()
        double = again is not None or self.draw(st.booleans())
        path = (name,)
        if double:
            listed[name, token] = listed.get((name, token), -1) + 1
            path = (name, listed[name, token])
        opened, closed = ("[[", "]]") if double else ("[", "]")
        self.note(path)
        self.text += f"{opened} {token} {closed}{self.choose(COMMENTS)}\n"
        self.statements(path)
        if self.draw(st.booleans()):
            inner, inner_token = self.key()
            self.note((*path, inner))
            self.text += f"  [{token}.{inner_token}]\n"
            self.statements((*path, inner))


@st.composite
def documents(draw):
    writer = Writer(draw)
    return writer.document(), writer.lines


@given(documents())
@settings(max_examples=120)
def test_each_key_is_found_on_the_line_on_which_it_was_written(document):
    text, lines = document
    scan = Scan(text)
    place = Lines(text).place
    assert {path: place(scan.marks[path].start)[0] for path in lines} == lines
    assert {path for path, _ in leaves(tomllib.loads(text))} <= scan.marks.keys()
    assert scan.open_at is None
    assert scan.duplicate is None


@given(documents())
@settings(max_examples=80)
def test_the_spans_of_a_key_and_its_value_read_back_alone(document):
    text, _ = document
    tree, scan = tomllib.loads(text), Scan(text)
    for path, mark in scan.marks.items():
        if isinstance(path[-1], str):
            assert path[-1] in tomllib.loads(f"{text[mark.start : mark.end]} = 1")
        if mark.value_end > mark.value_start:
            value = tree
            for part in path:
                value = value[part]
            assert repr(tomllib.loads(f"x = {text[mark.value_start : mark.value_end]}")["x"]) == repr(value)


def places(text):
    scan, lines = Scan(text), Lines(text)
    return {path: lines.place(mark.start) for path, mark in scan.marks.items()}


def test_dotted_keys_stand_at_their_last_part():
    assert places("a . b.c = 1") == {("a",): (1, 1), ("a", "b"): (1, 5), ("a", "b", "c"): (1, 7)}


def test_a_table_stands_at_its_own_header_even_below_its_sub_table():
    found = places("[a.b]\nx = 1\n[a]\ny = 2\n")
    assert found["a",] == (3, 2)
    assert found["a", "b"] == (1, 4)


def test_each_entry_of_a_list_of_tables_has_its_place():
    found = places("[[m]]\nn = 1\n[m.t]\nx = 1\n[[m]]\nn = 2\n[m.t]\nx = 2\n")
    assert [found["m", 0, "n"], found["m", 1, "n"]] == [(2, 1), (6, 1)]
    assert [found["m", 0, "t", "x"], found["m", 1, "t", "x"]] == [(4, 1), (8, 1)]
    assert found["m", 1] == (5, 3)


def test_lines_that_end_like_those_of_windows_count_once():
    assert places("a = 1\r\nb = [\r\n 1,\r\n 2]\r\n")["b", 1] == (4, 2)


def test_columns_count_characters():
    assert places("'ü' = 1\n[ 'ä ö' ]")["ä ö",] == (2, 3)


@pytest.mark.parametrize(
    ("text", "offset"),
    [("a = [1, [2", 8), ("a = { b = 1", 4), ('a = "x', 4), ("a = '''x", 4), ("a = [1 2]", 4)],
)
def test_what_was_never_closed_is_remembered(text, offset):
    assert Scan(text).open_at == offset


def test_a_key_that_comes_twice_is_remembered():
    assert Scan("a = 1\nb = 2\na = 3").duplicate == (("a",), 0, 12)
