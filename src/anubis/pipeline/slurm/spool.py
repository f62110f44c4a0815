"""Files of attempts that wait for Slurm or run with it, in a folder that the nodes share.

``<run id>.<attempt>/`` has the scripts of an attempt, its options and, once it belongs to an array, the name of that and its
index. ``arrays/<name>/`` has the scripts of the elements of an array in the order of their indices, and its id. So any
process can continue what another one began.
"""

import json
import logging
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from anubis.model.cause import Cause
from anubis.model.launch import Launch
from anubis.model.run import Run
from anubis.pipeline.slurm import script
from anubis.record import access, layout, liveness
from anubis.record.files import FolderFiles, read_json, replace

log = logging.getLogger(__name__)

_ARRAYS, _REQUEST, _MEMBER, _ELEMENTS, _SUBMITTED = (
    "arrays",
    "request.json",
    "member.json",
    "elements",
    "array.json",
)
_LONGEST_NOTE = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Array:
    """An array that was submitted, or is about to be."""

    name: str
    #: Slurm's number of it; empty: it is not known whether Slurm has it.
    id: str = ""
    #: UTC, when it was submitted.
    submitted_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """The runs of a family of which only some may execute at the same time."""

    family: str
    at_once: int

    @classmethod
    def of(cls, run: Run, launch: Launch) -> "Limit | None":
        """The limit of a run; None: it has none."""
        has_limit = run.family_id is not None and launch.at_once > 0
        return cls(family=run.family_id or "", at_once=launch.at_once) if has_limit else None


class Spool:
    """The folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def entry(self, name: str) -> "Entry":
        """The files of the attempt with this name."""
        return Entry(self.folder / name)

    def create(
        self,
        entry: "Entry",
        scripts: Mapping[str, bytes],
        options: Sequence[str],
        limit: "Limit | None" = None,
    ) -> None:
        """Store an attempt with its scripts, complete or not at all. Raises OSError."""
        request = {"options": list(options), **(asdict(limit) if limit else {})}
        access.make_folder(str(self.folder))
        fresh = self.folder / f".{entry.name}.{os.urandom(8).hex()}"
        access.make_folder(str(fresh))
        files = {**scripts, _REQUEST: json.dumps(request).encode()}
        try:
            for name, data in files.items():
                with os.fdopen(access.create(str(fresh / name), os.O_WRONLY | os.O_EXCL), "wb") as file:
                    file.write(data)
            fresh.rename(entry.folder)
        except OSError:
            if not entry.exists:  # otherwise another process stored it first
                raise
        finally:
            shutil.rmtree(fresh, ignore_errors=True)

    def join(self, name: str, entries: Sequence["Entry"]) -> Array:
        """Make these attempts the elements of a new array. Raises OSError."""
        folder = self._array(name)
        access.make_folder(str(folder))
        lines = "".join(f"{entry.folder}/{script.ELEMENT}\n" for entry in entries)
        replace(str(folder), _ELEMENTS, os.fsencode(lines))
        for index, entry in enumerate(entries):
            replace(str(entry.folder), _MEMBER, json.dumps({"array": name, "index": index}).encode())
        return Array(name=name)

    def array(self, name: str) -> Array:
        """The array of this name."""
        about = read_json(FolderFiles(str(self._array(name))), _SUBMITTED)
        return Array(name=name, id=str(about.get("id", "")), submitted_s=float(about.get("submitted_s", 0.0)))

    def note_submitted(self, array: Array) -> None:
        """Store the id of an array. Raises OSError."""
        about = {"id": array.id, "submitted_s": array.submitted_s}
        replace(str(self._array(array.name)), _SUBMITTED, json.dumps(about).encode())

    def size(self, array: Array) -> int:
        """The number of elements of an array. Raises OSError."""
        return (self._array(array.name) / _ELEMENTS).read_bytes().count(b"\n")

    def script(self, array: Array) -> str:
        """The script of an array."""
        folder = self._array(array.name)
        return script.of_array(str(folder / _ELEMENTS), str(self.folder))

    def output(self, array: Array, index: int | str) -> str:
        """Path of the output of an element before its agent has started; ``%a`` is any index."""
        return str(self._array(array.name) / f"output-{index}")

    def output_of(self, entry: "Entry") -> str:
        """The last line that the element of an attempt printed before its agent started; empty: there is none."""
        member = entry.member
        if member is None:
            return ""
        try:
            with Path(self.output(Array(name=member[0]), member[1])).open("rb") as file:
                return last_line(file.read(_LONGEST_NOTE))
        except OSError:
            return ""

    def remove(self, entry: "Entry") -> None:
        """Remove the files of an attempt that has ended: its script contains secrets."""
        shutil.rmtree(entry.folder, ignore_errors=True)

    def reap(self, records: Path) -> None:
        """Remove what killed processes left behind: attempts that have ended, and arrays without attempts."""
        for folder in self.folder.glob("*.*"):
            match = re.fullmatch(r"(.+)\.(\d+)", folder.name)
            if match and layout.is_run_id(match[1]) and _is_over(records, match[1], int(match[2])):
                shutil.rmtree(folder, ignore_errors=True)
        for folder in (self.folder / _ARRAYS).glob("*"):
            try:
                scripts = (folder / _ELEMENTS).read_text().splitlines()
            except OSError:
                continue
            if not any(Path(each).exists() for each in scripts):
                shutil.rmtree(folder, ignore_errors=True)

    def _array(self, name: str) -> Path:
        return self.folder / _ARRAYS / name


@dataclass(frozen=True, slots=True)
class Entry:
    """The files of one attempt."""

    folder: Path

    @property
    def name(self) -> str:
        """Run id and attempt."""
        return self.folder.name

    @property
    def exists(self) -> bool:
        """Whether the attempt is stored."""
        return (self.folder / _REQUEST).exists()

    @property
    def options(self) -> tuple[str, ...]:
        """Its options of sbatch."""
        return tuple(self._read(_REQUEST).get("options", ()))

    @property
    def limit(self) -> Limit | None:
        """How many of its family may execute at the same time; None: there is no limit."""
        about = self._read(_REQUEST)
        return Limit(family=about["family"], at_once=about["at_once"]) if "family" in about else None

    @property
    def member(self) -> tuple[str, int] | None:
        """Name of its array, and its index; None: it does not belong to one."""
        about = self._read(_MEMBER)
        return (str(about["array"]), int(about["index"])) if about else None

    def leave(self) -> None:
        """Forget an array that Slurm did not accept."""
        (self.folder / _MEMBER).unlink(missing_ok=True)

    @property
    def started(self) -> str:
        """The id of the element that executes this attempt; empty: none does yet."""
        return self._note(script.STARTED)

    @property
    def failed(self) -> tuple[Cause, str] | None:
        """Cause and message of an element that could not start the agent."""
        cause, _, message = self._note(script.FAILED).partition(" ")
        if not cause:
            return None
        return (Cause(cause) if cause in set(Cause) else Cause.INTERNAL), message

    def _note(self, name: str) -> str:
        try:
            with (self.folder / name).open("rb") as file:
                return file.read(_LONGEST_NOTE).decode(errors="replace").strip()
        except OSError:
            return ""

    def _read(self, name: str) -> Mapping[str, Any]:
        return read_json(FolderFiles(str(self.folder)), name)


def last_line(output: bytes) -> str:
    """The last line of a text; empty: there is none."""
    lines = output.decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else ""


def _is_over(records: Path, run_id: str, attempt: int) -> bool:
    record = Path(layout.role_folder(str(records), run_id, attempt))
    return not record.exists() or (record / layout.EXIT).exists() or liveness.is_revoked(str(record))
