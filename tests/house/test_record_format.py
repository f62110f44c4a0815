"""Only record/ knows the names of the files of a record."""

import ast
import re

import pytest

from anubis.record import layout
from support.tree import PACKAGE, modules, shown

#: Every constant of the layout that is a text.
NAMES = {text for name, text in vars(layout).items() if name.isupper() and isinstance(text, str)}
NAMES -= {layout.PART, layout.BENCHMARK}
#: Names that mean nothing else, wherever they are.
UNMISTAKABLE = {name for name in NAMES if "." in name}
#: Text -> why it does not name a file of a record.
ALLOWED = {
    "/tmp/benchmark-ai/fifo": "the default FIFO of the old client library",
    "GET /runs/{ref}/samples": "a route of the HTTP interface",
}
#: Functions and methods whose first arguments are files of a record.
READERS = {
    "read",
    "state",
    "append",
    "replace",
    "reader",
    "last_line",
    "last_lines",
    "read_json",
    "read_whole",
}
PATH_END = re.compile(rf"/({'|'.join(map(re.escape, sorted(NAMES)))})$")


def docstrings(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield node.value


def literals(tree):
    """Line and text of every string that names a file of a record."""
    prose = set(map(id, docstrings(tree)))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            if node.value in UNMISTAKABLE or PATH_END.search(node.value):
                yield node.lineno, node.value
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            yield from named(node.right)
        elif isinstance(node, ast.Call) and called(node) in READERS:
            for argument in node.args[:2]:
                yield from named(argument)


def called(node):
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def named(node):
    if isinstance(node, ast.Constant) and node.value in NAMES:
        yield node.lineno, node.value


def outside(tree):
    return sorted(found for found in set(literals(tree)) if found[1] not in ALLOWED)


@pytest.mark.parametrize(
    "code",
    [
        'open(folder + "/stdout")',
        'f"{folder}/exit.json"',
        'folder / "samples"',
        'names = ["facts.json"]',
        'files.read("lines", 0, 5)',
        'tailing.last_line(files, "stderr")',
    ],
)
def test_a_name_in_the_code_is_found(code):
    assert outside(ast.parse(code)) != []


@pytest.mark.parametrize(
    "code",
    [
        'def f():\n    """Reads exit.json"""',
        'Column("samples")',
        'option("--stdout", "stdout")',
        "files.read(layout.LINES)",
    ],
)
def test_other_words_are_left_alone(code):
    assert outside(ast.parse(code)) == []


def test_no_module_outside_record_names_a_file_of_a_record():
    found = [
        f"{shown(path)}:{line} {name!r}"
        for path, tree in modules().items()
        if (PACKAGE / "record") not in path.parents
        for line, name in outside(tree)
    ]
    assert found == []
