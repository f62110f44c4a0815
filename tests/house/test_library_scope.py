"""Which part of the program may use which library. A library that has one purpose is imported in one place."""

import ast
import re
import sys
from importlib.metadata import packages_distributions, requires

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from support.tree import PACKAGE, modules, shown

#: Library -> the folders and modules that may import it.
SCOPE = {
    "alembic": {"store/migrations"},
    "botocore": {"sources/s3.py", "store/bucket/connection.py"},
    "click": {"cli"},
    "cryptography": {"submission/environment/project_secrets.py"},
    "cronsim": {"describe/check/schedules.py"},
    "fastapi": {"web"},
    "jinja2": {"web/pages"},
    "joserfc": {"web/sign_in/provider.py"},
    "markupsafe": {"web/pages"},
    "mcp": {"mcp"},
    "numpy": {"analysis", "search/bitmaps.py", "store/columns.py", "store/samples.py"},
    "prometheus_client": {"web"},
    "psycopg": {"store/sql/drivers.py"},
    "pytest": {"testing/contracts"},
    "pyarrow": {"histories/parquet.py", "transfer/daily/tables.py"},
    "pydantic": {"describe/check/validation.py", "reporting", "api", "web"},
    "rich": {"cli/views", "cli/sweeps"},
    "scipy": {"analysis"},
    "sqlalchemy": {"store/sql", "store/migrations"},
    "starlette": {"web"},
    "urllib3": {
        "client/remote",
        "notifiers",
        "sources/web.py",
        "transfer/http_json.py",
        "web/sign_in/provider.py",
    },
    "uvicorn": {"web"},
    "xlsxwriter": {"reporting/documents/sheets.py"},
    "zstandard": {"client/remote", "store", "transfer", "web"},
}


def imported(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            yield node.module.partition(".")[0]
        elif (
            isinstance(node, ast.Call)
            and getattr(node.func, "id", getattr(node.func, "attr", "")) == "import_module"
            and node.args
            and isinstance(node.args[0], ast.Constant)
        ):
            yield str(node.args[0].value).partition(".")[0]


def uses():
    """(library, module) of every import of a library."""
    ours = {"anubis", "benchmarkai", *sys.stdlib_module_names}
    for path, tree in modules().items():
        for library in set(imported(tree)) - ours:
            yield library, path


def is_within(path, places):
    name = path.relative_to(PACKAGE).as_posix()
    return any(name == place or name.startswith(f"{place}/") for place in places)


def test_every_library_is_used_where_it_belongs():
    assert [
        f"{shown(path)} imports {library}"
        for library, path in uses()
        if not is_within(path, SCOPE.get(library, ()))
    ] == []


def test_every_library_of_the_list_is_used():
    assert set(SCOPE) - {library for library, _ in uses()} == set()


def required():
    """Import names of what the package and its extras for users need."""
    owners = packages_distributions()
    declared = {
        canonicalize_name(requirement.name)
        for requirement in map(Requirement, requires("anubis-bench"))
        if not re.search(r"extra == .(dev|docs|examples)", str(requirement.marker))
    }
    return {name for name in SCOPE if declared & {canonicalize_name(owner) for owner in owners.get(name, ())}}


@pytest.mark.parametrize("library", sorted(SCOPE.keys() - {"pytest"}))
def test_every_library_that_is_imported_is_declared(library):
    assert library in required()
