"""Machine types and their cores, memory and accelerators.

``instances.csv`` holds the EC2 types (from the EC2 documentation); an operator's file with the same columns extends and
overrides it. A type in neither file is not an error: its figures are unknown.
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
    #: Number of accelerators of any vendor.
    gpus: int
    #: Vendor and model of the accelerators; empty if there are none.
    accelerator: str = ""


Instances = Mapping[str, Instance]


@cache
def shipped() -> Instances:
    """The table that is part of Anubis."""
    file = Path(__file__).with_name("instances.csv")
    return _table(file.read_text(encoding="utf-8").splitlines(), file.name)


def extended(file: Path) -> Instances:
    """The shipped table, extended and overridden by an operator's file.

    Raises BadInputError, which names the line that cannot be read.
    """
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInputError(
            f"the instance table {file} cannot be read: {error}", remedy="give a CSV file"
        ) from error
    return {**shipped(), **_table(lines, str(file))}


def find(instance_type: str, instances: Instances | None = None) -> Instance | None:
    """The machine of that type, None if unknown. The SageMaker prefix ``ml.`` is ignored."""
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
