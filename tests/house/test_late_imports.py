"""Imports are at the top of their modules, except where the start of a command must not pay for them."""

import ast
import json
import os
import subprocess
import sys

import pytest

from support.tree import FUNCTIONS, PACKAGE, modules, shown

#: Folders whose modules may import late with ``late``: they only connect the others.
LATE = {"cli", "client", "web"}
#: Other modules that may, each with the reason.
ALSO_LATE = {
    "datasets/cached.py": "only a run with data needs threads, archives and digests",
    "plug_ins.py": "connects plug-ins; a listing needs none",
    "search/bitmaps.py": "a search reads an index; only indexing needs numpy",
    "pipeline/stages/analyse.py": "most runs of a large sweep have series too short for numpy and scipy",
    "store/columns.py": "only long columns need numpy",
    "store/opening.py": "only an old database needs Alembic",
    "suites/sweep_chore.py": "a worker without sweeps needs no reader of descriptors",
    "store/samples.py": "only long columns need numpy",
}
#: Modules with an import inside a function, each with the reason. The agent and the record are part of every run.
INNER = {
    "__init__.py": "the agent imports it",
    "cli/__init__.py": "anubis --version imports nothing else",
    "plug_ins.py": "a listing does not need importlib.metadata",
    "store/sql/drivers.py": "psycopg is an optional extra",
    "submission/environment/project_secrets.py": "cryptography is an optional extra",
}
HEAVY = ("alembic", "numpy", "pydantic", "rich", "scipy", "sqlalchemy", "urllib3")


def name_of(path):
    return path.relative_to(PACKAGE).as_posix()


def late_names(tree):
    """(name, module) of every ``name = late("module")``."""
    return {
        (node.targets[0].id, node.value.args[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Call)
        and getattr(node.value.func, "id", "") == "late"
    }


def typed_names(tree):
    """(name, module) of every module that is imported below ``if TYPE_CHECKING``."""
    for block in ast.walk(tree):
        if isinstance(block, ast.If) and getattr(block.test, "id", "") == "TYPE_CHECKING":
            for node in (each for each in block.body if isinstance(each, ast.Import | ast.ImportFrom)):
                prefix = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
                yield from ((alias.asname or alias.name, prefix + alias.name) for alias in node.names)


def test_what_is_loaded_late_is_what_the_type_checker_sees():
    found = {shown(path): late_names(tree) - set(typed_names(tree)) for path, tree in modules().items()}
    assert {path: names for path, names in found.items() if names} == {}


def test_only_modules_that_connect_others_import_late():
    places = {name_of(path) for path, tree in modules().items() if late_names(tree)}
    assert {place for place in places if place.partition("/")[0] not in LATE} - ALSO_LATE.keys() == set()


def test_no_function_imports():
    found = {
        name_of(path)
        for path, tree in modules().items()
        for function in ast.walk(tree)
        if isinstance(function, FUNCTIONS)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    outside = {place for place in found if place.partition("/")[0] not in {"agent", "record"}}
    assert outside - INNER.keys() == set()


@pytest.mark.parametrize(
    ("words", "needed"),
    [
        ("--help", set()),
        ("history", set()),
        ("status", set()),
        ("alerts", set()),
        ("check --help", set()),
        ("validate hello.toml", {"pydantic"}),
    ],
)
def test_a_command_loads_only_what_it_needs(words, needed, tmp_path):
    (tmp_path / "hello.toml").write_text('spec_version = "1.0"\n[info]\nname = "hello"\n')
    code = f"""
import json, sys
from anubis.cli.app import execute
execute({words.split()!r})
sys.stderr.write("\\n" + json.dumps([name for name in {HEAVY!r} if name in sys.modules]))
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "ANUBIS_HOME": str(tmp_path / "home")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert set(json.loads(done.stderr.splitlines()[-1])) == needed
