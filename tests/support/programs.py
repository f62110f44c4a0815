"""Programs of the machine that a test needs."""

import shutil

import pytest


def needed(program):
    """The path of a program; skips where it is not installed."""
    path = shutil.which(program)
    if path is None:
        pytest.skip(f"needs {program}")
    return path
