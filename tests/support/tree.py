"""The files of the repository as data, for the house tests."""

import ast
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
SRC = ROOT / "src"
PACKAGE = SRC / "anubis"
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@cache
def modules():
    """Path -> syntax tree of every Python file under src."""
    return {path: ast.parse(path.read_text(), str(path)) for path in sorted(SRC.rglob("*.py"))}


@cache
def tracked():
    """The files tracked by git that exist."""
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], capture_output=True, text=True, check=True)
    return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


def texts():
    """(path, text) of every tracked text file."""
    for path in tracked():
        data = path.read_bytes()
        if b"\0" not in data[:8192]:
            yield path, data.decode(errors="replace")


def shown(path):
    return str(path.relative_to(ROOT))
