"""What the agents of several replicas that see the records of one another need: who the others are, and how a rank of MPI is started."""

import json
import shlex
from collections.abc import Callable, Mapping
from typing import Any

from anubis.model.hardware import Strategy
from anubis.model.launch import LaunchFile, Role
from anubis.model.server import Probe
from anubis.pipeline.replicas.variables import RANK_AGENT, is_launcher
from anubis.record import layout
from anubis.record.layout import BENCHMARK, FIRST_RANK
from anubis.submission.bundle import WORKER

#: (role, rank) -> folder of the record of that replica.
RecordOf = Callable[[Role, int], str]

#: Starts the agent of a rank of MPI. Its record follows from the rank, which every implementation gives another variable.
_RANK_PROGRAM = """#!/bin/sh
rank=${{OMPI_COMM_WORLD_RANK:-${{PMIX_RANK:-${{PMI_RANK:-${{SLURM_PROCID:-0}}}}}}}}
ANUBIS_ROLE={role} ANUBIS_RANK=$rank ANUBIS_WORLD_SIZE=${{OMPI_COMM_WORLD_SIZE:-${{PMI_SIZE:-${{SLURM_STEP_NUM_TASKS:-1}}}}}}
export ANUBIS_ROLE ANUBIS_RANK ANUBIS_WORLD_SIZE
exec {agent} exec --options {options} --record {folder}/"$rank" -- "$@"
"""
#: Without a probe, a server is ready once its command has started; seconds.
_UNTIL_STARTED_S = 60.0
#: A rank ends with its launcher, which keeps the timeout; its own one is longer by this, seconds.
_LONGER_S = 60.0


def group(
    role: Role,
    rank: int,
    roles: Mapping[str, Role],
    record_of: RecordOf,
    strategy: Strategy,
    *,
    one_machine: bool,
) -> dict[str, Any] | None:
    """What the agent of a replica must know about the others (``agent/group``); None if there are none."""
    others = [
        (other, number)
        for other in roles.values()
        for number in range(other.replicas)
        if (other.name, number) != (role.name, rank)
    ]
    launches = is_launcher(role, strategy)
    if not others and not launches:
        return None
    measured = roles[BENCHMARK]
    is_measured = (role.name, rank) == (BENCHMARK, FIRST_RANK)
    peers = [
        {
            "name": f"{other.name} {number}",
            "record": record_of(other, number),
            "is_service": other.is_service,
            "ready_within_s": _longest_wait_s(other),
        }
        for other, number in others
    ]
    return {
        "until": "" if is_measured else record_of(measured, FIRST_RANK),
        "needs": peers if is_measured else [],
        "in_step": [] if role.is_service else [each["record"] for each in peers if not each["is_service"]],
        "ranks": ranks_of(record_of(role, rank)) if launches else "",
        "is_service": role.is_service,
        "one_machine": one_machine,
        "readiness": _probe(role, role.readiness_probe),
        "liveness": _probe(role, role.liveness_probe),
    }


def rank_files(
    role: Role,
    record: str,
    ranks: str,
    agent: tuple[str, ...],
    options: Mapping[str, Any],
    *,
    one_machine: bool,
) -> dict[str, LaunchFile]:
    """The program that starts the agent of a rank, and the options of that agent.

    ``record``: that of the launcher; ``ranks``: the folder with those of the ranks.
    """
    path, group = f"{record}/{layout.RANK_OPTIONS}", f"{record}/rank-{layout.GROUP}"
    program = _RANK_PROGRAM.format(
        role=WORKER, agent=shlex.join(agent), options=shlex.quote(path), folder=shlex.quote(ranks)
    )
    patterns = f"{record}/{layout.PATTERNS}" if any(metric.pattern for metric in role.metrics) else ""
    given = {
        **options,
        "repeats": 1,
        "warmups": 0,
        "until_steady": False,
        "timeout_s": options["timeout_s"] + _LONGER_S,
        "patterns": patterns,
        "group": group,
        "is_rank": True,
    }
    ends_with = {"until": record, "needs": [], "in_step": [], "ranks": "", "is_service": False}
    ends_with["one_machine"] = one_machine
    return {
        f"{record}/{layout.PROGRAMS}/{RANK_AGENT}": LaunchFile(content=program.encode(), mode=0o755),
        path: as_json(given),
        group: as_json(ends_with),
    }


def ranks_of(record: str) -> str:
    """The folder with the records of the ranks that a launcher with this record starts."""
    return f"{record.rsplit('/', 2)[0]}/{WORKER}"


def _longest_wait_s(role: Role) -> float:
    probe = role.readiness_probe
    return float(probe.max_wait_seconds if probe else _UNTIL_STARTED_S)


def _probe(role: Role, probe: Probe | None) -> dict[str, Any] | None:
    if probe is None:
        return None
    port = probe.port or next(iter(role.ports), 0)
    every = {name: getattr(probe, name) for name in Probe.__dataclass_fields__}
    words = shlex.split(probe.command) if probe.command else []
    return {**every, "port": port, "command": words}


def as_json(value: object) -> LaunchFile:
    """A file with this value."""
    return LaunchFile(content=json.dumps(value).encode() + b"\n")
