"""Writes a site into a folder that a web server may serve meanwhile.

Every file is replaced as a whole and only if it changed. The index is written last and files that the site no longer
contains are removed after it, so all links of all pages work at any time, also after a crash. The next call completes an
interrupted one.
"""

import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from anubis.model.errors import BadInputError

#: The list of the files of the site. A folder without it is not changed, unless it is empty.
MANIFEST = ".anubis-site.json"
_UNFINISHED = ".unfinished"


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What a call changed."""

    written: int
    unchanged: int
    removed: int


def write_site(folder: Path, names: Collection[str], files: Iterable[tuple[str, str]]) -> Written:
    """Make the folder contain these files: their relative paths, and each path with its text. Raises BadInputError."""
    try:
        known, new = _known(folder), set(names)
        folder.mkdir(parents=True, exist_ok=True)
        # the list contains a file before it exists, so that a call that is interrupted leaves no unknown file
        _put(folder, MANIFEST, _listed(known | new))
        written = sum(_put(folder, name, text) for name, text in files)
        stale = sorted(known - new)
        for name in stale:
            (folder / name).unlink(missing_ok=True)
        _put(folder, MANIFEST, _listed(new))
    except OSError as error:
        raise BadInputError(
            f"the site cannot be written to {folder}: {error.strerror}", remedy="give a writable folder"
        ) from error
    return Written(written=written, unchanged=len(new) - written, removed=len(stale))


def _known(folder: Path) -> set[str]:
    """The files that earlier calls wrote. Raises BadInputError if the folder has other content."""
    try:
        names = json.loads((folder / MANIFEST).read_text())["files"]
        return {name for name in names if isinstance(name, str) and _is_inside(name)}
    except FileNotFoundError:
        if folder.exists() and any(folder.iterdir()):
            raise BadInputError(
                f"{folder} is not empty and contains no site", remedy="name a new or an empty folder"
            ) from None
        return set()
    except (ValueError, KeyError, TypeError):
        raise BadInputError(
            f"{folder / MANIFEST} is damaged", remedy="remove the folder, or name another one"
        ) from None


def _is_inside(name: str) -> bool:
    path = Path(name)
    return not path.is_absolute() and ".." not in path.parts


def _listed(names: set[str]) -> str:
    return json.dumps({"files": sorted(names)}, indent=0) + "\n"


def _put(folder: Path, name: str, text: str) -> bool:
    """Replace a file if its content differs; whether it did."""
    path, content = folder / name, text.encode("utf-8", "replace")
    if path.is_file() and path.stat().st_size == len(content) and path.read_bytes() == content:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f"{path.name}{_UNFINISHED}")
    unfinished.unlink(missing_ok=True)
    with unfinished.open("xb") as stream:
        stream.write(content)
    unfinished.replace(path)
    return True
