"""The JSON of ``squeue`` and ``sacct``, of Slurm 21.08 and later.

Until 22.05, a state is a word and a number is a number. Since 23.02, a number is an object with the fields ``set``,
``infinite`` and ``number``; since 23.11, a state is a list of flags.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

#: States of an element that has not started, and of one that runs. Every other state is an end.
PENDING = frozenset({"PENDING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "SPECIAL_EXIT", "RESV_DEL_HOLD"})
RUNNING = frozenset(
    {"RUNNING", "CONFIGURING", "COMPLETING", "SUSPENDED", "STOPPED", "STAGE_OUT", "SIGNALING", "RESIZING"}
)
#: Ends that Slurm reports together with a flag such as COMPLETING.
ENDS = frozenset(
    {
        "BOOT_FAIL",
        "CANCELLED",
        "COMPLETED",
        "DEADLINE",
        "FAILED",
        "NODE_FAIL",
        "OUT_OF_MEMORY",
        "PREEMPTED",
        "REVOKED",
        "TIMEOUT",
    }
)
#: Indices of an array that has not started, such as ``0-3,7,10-20:5%2``; Slurm shortens long lists with ``...``.
_RANGE = re.compile(r"(\d+)(?:-(\d+)(?::(\d+))?)?")
#: The same, as ``sacct`` prints it: bit N is index N.
_BITS = re.compile(r"0x[0-9A-Fa-f]{1,1000004}")
#: What ``sacct`` prints instead of the nodes of an element that has none.
_NO_NODES = "None assigned"
#: More elements than any Slurm accepts in an array.
_MOST_ELEMENTS = 4_000_001


@dataclass(frozen=True, slots=True, kw_only=True)
class Element:
    """One element of an array as Slurm reports it."""

    #: A word of PENDING, RUNNING or ENDS.
    state: str
    #: Why it waits or ended, as Slurm names it; empty: nothing special.
    reason: str = ""
    #: Names of its nodes.
    nodes: str = ""
    exit_code: int | None = None
    #: How often Slurm has started it again.
    restarts: int = 0

    @property
    def is_pending(self) -> bool:
        """Whether it has not started."""
        return self.state in PENDING

    @property
    def is_requeued(self) -> bool:
        """Whether it waits to be started again."""
        return self.is_pending and self.restarts > 0

    @property
    def has_ended(self) -> bool:
        """Whether it ends or has ended."""
        return self.state in ENDS


class ListingError(ValueError):
    """The output is not the JSON that Slurm prints."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """Elements by their ids, such as ``17_3``, and ids of arrays by their names."""

    elements: Mapping[str, Element]
    arrays: Mapping[str, str]
    #: Ids of arrays of which some elements are not listed separately because they have not started.
    unlisted: Mapping[str, Element]

    def get(self, array: str, index: int) -> Element | None:
        """The element of an array; None: Slurm does not list it."""
        return self.elements.get(f"{array}_{index}") or self.unlisted.get(array)


def read(text: str) -> Listing:
    """The listing in the output of ``squeue --json`` or ``sacct --json``. Raises ListingError."""
    try:
        rows = json.loads(text)["jobs"]
        elements: dict[str, Element] = {}
        arrays: dict[str, str] = {}
        unlisted: dict[str, Element] = {}
        for row in rows:
            element, (array, indices) = _element(row), _position(row)
            if indices is None:
                unlisted[array] = element
            for index in indices or ():
                elements[f"{array}_{index}"] = element
            arrays[str(row.get("name") or "")] = array
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise ListingError(f"{type(error).__name__}: {error}") from error
    return Listing(elements=elements, arrays=arrays, unlisted=unlisted)


def _position(row: Mapping[str, Any]) -> tuple[str, list[int] | None]:
    """The id of an array, and the indices that a row describes; None: all without a separate row."""
    if "array" in row:  # of sacct
        about = row["array"]
        array, index = _number(about.get("job_id")), _number(about.get("task_id"))
        waiting = about.get("task") or ""
    else:
        array, index = _number(row.get("array_job_id")), _number(row.get("array_task_id"))
        waiting = row.get("array_task_string") or ""
    number = array or _number(row["job_id"])
    if not number:
        raise ListingError("a row without an id")
    if waiting and isinstance(waiting, str):
        return str(number), None if "..." in waiting else list(_indices(waiting))
    return str(number), [index or 0]


def _indices(text: str) -> Iterator[int]:
    if _BITS.fullmatch(text):
        yield from (index for index, bit in enumerate(reversed(f"{int(text, 16):b}")) if bit == "1")
        return
    for first, last, step in _RANGE.findall(text.partition("%")[0]):
        end = min(int(last or first), _MOST_ELEMENTS)
        yield from range(int(first), end + 1, max(1, int(step or 1)))


def _element(row: Mapping[str, Any]) -> Element:
    state = row.get("job_state", row.get("state"))
    reason = row.get("state_reason", "")
    if isinstance(state, dict):  # of sacct
        state, reason = state["current"], state.get("reason", "")
    return Element(
        state=_state(state),
        reason="" if reason in {None, "None"} else str(reason),
        nodes=str(row.get("nodes") or "").replace(_NO_NODES, ""),
        exit_code=_exit_code(row.get("exit_code")),
        restarts=_number(row.get("restart_cnt")) or 0,
    )


def _state(value: Any) -> str:
    """One word: an end wins over the flags that Slurm reports with it, and a flag wins over the state it changes."""
    words = value if isinstance(value, list) else [value]
    if not words or not all(isinstance(word, str) for word in words):
        raise ListingError(f"{value!r} is not a state")
    names: list[str] = [word.split()[0].upper() for word in words]  # "CANCELLED by 1000"
    for kind in (PENDING & set(names) - {"PENDING"}, ENDS & set(names), {"PENDING"} & set(names)):
        if kind:
            return min(kind)
    return names[0]


def _exit_code(value: Any) -> int | None:
    if isinstance(value, dict):
        return _number(value.get("return_code", value))
    code = _number(value)
    return None if code is None else code >> 8  # as wait(2) returns it


def _number(value: Any) -> int | None:
    """A number in the form of any version; None: not set."""
    if isinstance(value, dict):
        value = value.get("number") if value.get("set", True) and not value.get("infinite") else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None
