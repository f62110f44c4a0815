"""The Python that the benchmark would use and the distributions installed in it, without starting it."""

from __future__ import annotations

import os
from hashlib import blake2b

from anubis.agent.observe.kernel import read


def benchmark_python(path: str, chosen: str, cwd: str) -> dict[str, object] | None:
    """The first python3 (else python) in PATH: its real file, its distributions as ``name-version``, and their digest.

    None if there is none. Wrapper scripts of pyenv are followed to the version ``chosen`` (PYENV_VERSION) or the one
    selected for the folder ``cwd``; for any other wrapper script the distributions are null.
    """
    for name in ("python3", "python"):
        for folder in path.split(":"):
            program = f"{folder}/{name}"
            if os.access(program, os.X_OK):
                return _describe(program, chosen, cwd)
    return None


def _describe(program: str, chosen: str, cwd: str) -> dict[str, object]:
    behind = _behind_pyenv(program, chosen, cwd) or program
    real = _resolve(behind)
    with open(real, "rb", buffering=0) as file:
        is_script = file.read(2) == b"#!"
    names = [] if is_script else sorted(set(_distributions(behind, real)))
    digest = blake2b("\n".join(names).encode("utf-8", "replace"), digest_size=16).hexdigest()
    return {
        "executable": program,
        "file": real,
        "distributions": None if is_script else names,
        "distributions_digest": None if is_script else digest,
    }


def _behind_pyenv(program: str, chosen: str, cwd: str) -> str | None:
    """The file that pyenv's wrapper starts (https://github.com/pyenv/pyenv, "Understanding Python version selection")."""
    root, separator, name = program.rpartition("/shims/")
    if not separator:
        return None
    version = chosen.split(":", maxsplit=1)[0]
    while not version and cwd:
        version = _first_word(cwd + "/.python-version")
        cwd = cwd.rpartition("/")[0]
    behind = f"{root}/versions/{version or _first_word(root + '/version')}/bin/{name}"
    return behind if os.access(behind, os.X_OK) else None


def _first_word(path: str) -> str:
    words = read(path, 4096).split()
    return words[0] if words else ""


def _resolve(path: str) -> str:
    for _ in range(40):  # the kernel's limit on symbolic links
        try:
            target = os.readlink(path)
        except OSError:
            break
        path = target if target.startswith("/") else f"{path.rpartition('/')[0]}/{target}"
    return path


def _distributions(program: str, real: str) -> list[str]:
    """Names of the metadata folders, without suffix, in a virtual environment or else in the installation."""
    distributions = []
    environment, base = (path.rpartition("/")[0].rpartition("/")[0] for path in (program, real))
    prefix = environment if os.access(environment + "/pyvenv.cfg", os.R_OK) else base
    for library in (f"{prefix}/lib", f"{prefix}/local/lib"):
        for name in _listed(library):
            if not name.startswith("python3"):
                continue
            for folder in ("site-packages", "dist-packages"):
                for entry in _listed(f"{library}/{name}/{folder}"):
                    stem, _, kind = entry.rpartition(".")
                    if kind in {"dist-info", "egg-info"}:
                        distributions.append(stem)
    return distributions


def _listed(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []
