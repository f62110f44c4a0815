"""Which Python the benchmark would find, and what is installed in it, without starting it."""

from __future__ import annotations

import posix
from _blake2 import blake2b


def benchmark_python(path: str) -> dict[str, object] | None:
    """The first python3 (else python) of PATH: its real file and its installed distributions, as ``name-version`` with a
    digest over them; None without any. A wrapper script (pyenv) is not followed: its distributions are null.
    """
    for name in ("python3", "python"):
        for folder in path.split(":"):
            program = f"{folder}/{name}"
            if posix.access(program, posix.X_OK):
                return _describe(program)
    return None


def _describe(program: str) -> dict[str, object]:
    real = _resolve(program)
    with open(real, "rb", buffering=0) as file:
        is_script = file.read(2) == b"#!"
    names = [] if is_script else sorted(set(_distributions(program, real)))
    digest = blake2b("\n".join(names).encode("utf-8", "replace"), digest_size=16).hexdigest()
    return {
        "executable": program,
        "file": real,
        "distributions": None if is_script else names,
        "distributions_digest": None if is_script else digest,
    }


def _resolve(path: str) -> str:
    for _ in range(40):  # as many links as the kernel follows
        try:
            target = posix.readlink(path)
        except OSError:
            break
        path = target if target.startswith("/") else f"{path.rpartition('/')[0]}/{target}"
    return path


def _distributions(program: str, real: str) -> list[str]:
    """Stems of the metadata folders in a virtual environment, else in the installation."""
    found = []
    own, base = (place.rpartition("/")[0].rpartition("/")[0] for place in (program, real))
    prefix = own if posix.access(own + "/pyvenv.cfg", posix.R_OK) else base
    for library in (f"{prefix}/lib", f"{prefix}/local/lib"):
        for name in _listed(library):
            if not name.startswith("python3"):
                continue
            for folder in ("site-packages", "dist-packages"):
                for entry in _listed(f"{library}/{name}/{folder}"):
                    stem, _, kind = entry.rpartition(".")
                    if kind in {"dist-info", "egg-info"}:
                        found.append(stem)
    return found


def _listed(folder: str) -> list[str]:
    try:
        return posix.listdir(folder)
    except OSError:
        return []
