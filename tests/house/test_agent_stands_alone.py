import ast
import sys

import pytest

from support.tree import PACKAGE, SRC, shown

FILES = [
    path
    for folder in (PACKAGE / "agent", PACKAGE / "record", SRC / "benchmarkai")
    for path in sorted(folder.rglob("*.py"))
]


def imported(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module


@pytest.mark.parametrize("path", FILES, ids=shown)
def test_it_imports_only_the_standard_library(path):
    foreign = [
        name
        for name in imported(ast.parse(path.read_text()))
        if name.split(".")[0] not in sys.stdlib_module_names
        and not f"{name}.".startswith(("anubis.agent.", "anubis.record."))
    ]
    assert foreign == []


@pytest.mark.parametrize("path", FILES, ids=shown)
def test_it_is_written_in_the_python_of_old_images(path):
    ast.parse(path.read_text(), str(path), feature_version=(3, 8))
