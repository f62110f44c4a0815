"""The virtual environment that holds the peers: named by --peers-venv, made and filled with pip when it lacks them."""

import subprocess
import venv
from importlib.metadata import distributions
from pathlib import Path


def python_with(folder, *needed) -> Path | None:
    """The interpreter of the environment that has these distributions; None without a folder."""
    if folder is None:
        return None
    python = folder.absolute() / "bin" / "python"
    if not python.exists():
        print(f"making the virtual environment {folder} ...", flush=True)
        venv.create(folder, with_pip=True)
    places = [str(place) for place in folder.glob("lib/python*/site-packages")]
    present = {one.name.lower() for one in distributions(path=places)}
    if missing := [name for name in needed if name not in present]:
        print(f"installing {', '.join(missing)} into {folder} ...", flush=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *missing], check=True)
    return python
