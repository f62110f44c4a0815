"""The files of the repository as data, for the house tests."""

import ast
import re
import shutil
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


#: What git, the targets of the Makefile and Python create.
CREATED = re.compile(r"(\.git|\.venv|\.demo|site|__pycache__|\.hypothesis|\..*_cache)$")


@cache
def tracked():
    """The files tracked by git that exist; in a source archive, which has no repository, all files in it."""
    if not (ROOT / ".git").exists() or not shutil.which("git"):
        return sorted(files_below(ROOT))
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], capture_output=True, text=True, check=True)
    return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


def files_below(folder):
    """The files of a folder without those that were created after it was unpacked."""
    for path in folder.iterdir():
        if CREATED.match(path.name):
            continue
        if path.is_dir():
            yield from files_below(path)
        else:
            yield path


def texts():
    """(path, text) of every tracked text file."""
    for path in tracked():
        data = path.read_bytes()
        if b"\0" not in data[:8192]:
            yield path, data.decode(errors="replace")


def shown(path):
    return str(path.relative_to(ROOT))
