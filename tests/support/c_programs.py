"""C programs that a test compiles."""

import shutil
import subprocess

import pytest


def compiled(source, program, *options):
    """Compile a file to ``program``; skips the test where no compiler is installed."""
    if (compiler := shutil.which("cc")) is None:
        pytest.skip("needs a C compiler")
    subprocess.run([compiler, *options, "-o", program, source], check=True)
    return program
