"""What an image of the service needs where there is no registry and perhaps no PyPI: this Python as a base image, and wheels."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.tree import ROOT

#: Libraries of the system that wheels may need (PEP 513).
LIBRARIES = (
    "libstdc++.so.6",
    "libgcc_s.so.1",
    "libpthread.so.0",
    "libdl.so.2",
    "librt.so.1",
    "libutil.so.1",
    "libm.so.6",
)
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "anubis-tests"


def wheels():
    """A folder with the wheels of all libraries of the service, which is made again when a requirement changes."""
    text = (ROOT / "pyproject.toml").read_bytes() + sys.version.encode()
    folder = CACHE / f"wheels-{hashlib.sha256(text).hexdigest()[:16]}"
    if folder.exists():
        return folder
    part = folder.with_name(f"{folder.name}-{os.getpid()}.part")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--wheel-dir", part]
    done = subprocess.run(
        [*command, f"{ROOT}[service,postgresql,s3]", "hatchling"], capture_output=True, text=True, check=False
    )
    if done.returncode:
        shutil.rmtree(part, ignore_errors=True)
        pytest.skip(f"needs the libraries of the service from PyPI: {done.stderr.strip()[-200:]}")
    for own in part.glob("anubis_bench-*"):
        own.unlink()
    part.replace(folder)
    return folder


def files_of_python():
    """This Python without virtual environment and tests, and every library that it needs."""
    base = Path(sys.base_prefix)
    library = base / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}"
    left_out = {"test", "idlelib", "tkinter", "turtledemo", "lib2to3", "site-packages", "__pycache__"}
    parts = [path for path in library.iterdir() if path.name not in left_out]
    # Where ensurepip finds pip: Debian keeps the wheels elsewhere.
    parts += [
        path
        for path in (library / "site-packages" / "pip", Path("/usr/share/python-wheels"))
        if path.exists()
    ]
    program = base / "bin" / library.name
    shared = [*library.glob("lib-dynload/*.so"), *(base / "lib").glob("libpython*.so*")]
    listed = subprocess.run(["ldd", program, *shared], check=True, capture_output=True, text=True).stdout
    libraries = set(re.findall(r"(/\S+) \(0x", listed))
    extra = [path for name in LIBRARIES if (path := _library(name))]
    found = [program, base / "bin" / "python3", *parts, *(base / "lib").glob("libpython*.so*")]
    return sorted({*map(str, found), *libraries, *extra})


def _library(name):
    """A library that wheels need, where the loader finds it."""
    listed = subprocess.run(["/sbin/ldconfig", "-p"], check=True, capture_output=True, text=True).stdout
    return next((line.split()[-1] for line in listed.splitlines() if line.split()[:1] == [name]), None)
