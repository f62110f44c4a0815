"""Virtual environments of the peers, under the folder that --peers-venv names: made and filled with pip when they lack them.

One for each bench: asv, for one, takes three times as long where half of PyPI is installed beside it.
"""

import subprocess
import venv
from importlib.metadata import distributions
from pathlib import Path


def python_with(parent, name, *needed) -> Path | None:
    """The interpreter of the environment of that name with these distributions; None without a parent folder."""
    if parent is None:
        return None
    folder = parent.absolute() / name
    python = folder / "bin" / "python"
    if not python.exists():
        print(f"making the virtual environment {folder} ...", flush=True)
        venv.create(folder, with_pip=True)
    places = [str(place) for place in folder.glob("lib/python*/site-packages")]
    present = {one.name.lower() for one in distributions(path=places)}
    if missing := [name for name in needed if name not in present]:
        print(f"installing {', '.join(missing)} into {folder} ...", flush=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *missing], check=True)
    return python


def version_in(python, name) -> str:
    """The version of a distribution in the environment of this interpreter."""
    code = f"from importlib.metadata import version; print(version({name!r}))"
    return subprocess.check_output([python, "-c", code], text=True).strip()
