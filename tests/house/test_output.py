"""All text of the command line is printed by ``cli/terminal.py``, which escapes characters that control a terminal."""

import ast

from support.tree import PACKAGE, modules

PLACE = PACKAGE / "cli" / "terminal.py"
#: Modules that print constant text before anything else is imported, or that generate documentation.
CONSTANT = {PACKAGE / "cli/__init__.py", PACKAGE / "cli/reference.py"}
FORBIDDEN = {"click.echo", "click.secho", "click.style", "print", "sys.stdout.write", "sys.stderr.write"}


def prints(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in FORBIDDEN:
            yield ast.unparse(node.func)
        elif isinstance(node, ast.Attribute) and ast.unparse(node) in {
            "sys.stdout.buffer",
            "sys.stderr.buffer",
        }:
            yield ast.unparse(node)


def test_only_one_module_prints():
    found = {
        str(path.relative_to(PACKAGE)): sorted(set(prints(tree)))
        for path, tree in modules().items()
        if path.is_relative_to(PACKAGE / "cli") and path != PLACE and path not in CONSTANT
    }
    assert {path: calls for path, calls in found.items() if calls} == {}


def test_the_check_sees_a_print():
    assert list(prints(ast.parse("import sys\nprint(1)\nsys.stdout.buffer.write(b'')"))) == [
        "print",
        "sys.stdout.buffer",
    ]
