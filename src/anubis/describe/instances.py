"""What the machines of a name have: cores, memory, accelerators.

``instances.csv`` holds EC2's types (as EC2's own pages state them); an operator's file of the same columns adds to it
or overrules it. A type that is in neither is no error: its figures are unknown.
"""

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from anubis.model.errors import BadInputError

COLUMNS = ("type", "cpus", "memory_gib", "gpus", "accelerator")


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """One machine type."""

    #: Hardware threads.
    cpus: float
    #: Main memory in GiB.
    memory_gib: float
    #: Accelerators of any make; 0 for machines without.
    gpus: int
    #: Make of the accelerators; empty when there are none.
    accelerator: str = ""


Instances = Mapping[str, Instance]


@cache
def shipped() -> Instances:
    """The table that comes with Anubis."""
    file = Path(__file__).with_name("instances.csv")
    return _table(file.read_text(encoding="utf-8").splitlines(), file.name)


def extended(file: Path) -> Instances:
    """The shipped table with an operator's file over it.

    Raises BadInputError naming the line that cannot be read.
    """
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInputError(
            f"the instance table {file} cannot be read: {error}", remedy="give a CSV file"
        ) from error
    return {**shipped(), **_table(lines, str(file))}


def find(instance_type: str, instances: Instances | None = None) -> Instance | None:
    """The machine of that type; SageMaker's ``ml.`` in front of a name changes nothing. None: not known."""
    table = shipped() if instances is None else instances
    return table.get(instance_type) or table.get(instance_type.removeprefix("ml."))


def _table(lines: Iterable[str], name: str) -> dict[str, Instance]:
    table = {}
    reader = csv.DictReader(lines, restval="")
    for row in reader:
        try:
            table[row["type"]] = Instance(
                cpus=float(row["cpus"]),
                memory_gib=float(row["memory_gib"]),
                gpus=int(row["gpus"]),
                accelerator=row["accelerator"],
            )
        except (KeyError, ValueError) as error:
            raise BadInputError(
                f"line {reader.line_num} of the instance table {name} cannot be read",
                remedy=f"the columns are {', '.join(COLUMNS)}; the first line names them",
            ) from error
    return table
