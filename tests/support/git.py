"""Runs git in a folder of a test; skips where git is not installed."""

import os
import shutil
import subprocess

import pytest


def git(folder, *words, date_s=None):
    """Standard output of a git command; ``date_s`` is the time of a commit (UTC s)."""
    if not shutil.which("git"):
        pytest.skip("needs git")
    variables = {"GIT_CONFIG_GLOBAL": os.devnull}
    for role in ("AUTHOR", "COMMITTER"):
        variables |= {f"GIT_{role}_NAME": "A", f"GIT_{role}_EMAIL": "a@example.org"}
        if date_s is not None:
            variables[f"GIT_{role}_DATE"] = f"@{date_s} +0000"
    answer = subprocess.run(
        ["git", *words], cwd=folder, env=os.environ | variables, capture_output=True, text=True, check=True
    )
    return answer.stdout.strip()
