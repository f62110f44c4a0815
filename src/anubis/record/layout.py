"""Names of the folders and files of a record.

The record of a run is ``<run id>/a<attempt>/<role>/<rank>/``. The agent and all readers use the file names of this module.
"""

from __future__ import annotations

import re

#: The folder of all records, in the home folder.
RECORDS = "records"

STDOUT, STDERR, EMIT = "stdout", "stderr", "emit"
#: The streams of a benchmark; the time index refers to them by position.
STREAMS = (STDOUT, STDERR, EMIT)
#: The time index: arrival times of the bytes of the streams.
LINES = "lines"
EVENTS = "events.jsonl"
TELEMETRY = "telemetry"
SAMPLES = "samples"
#: Written before the agent starts: its options, and the metrics that the descriptor declares.
OPTIONS, PATTERNS = "options.json", "patterns.json"
#: Written before the agent starts: the environment of the benchmark, without secret values.
ENVIRONMENT = "environment.json"
#: Written before the agent starts: addresses and digests of the datasets of the benchmark.
DATA = "data.json"
#: Written before the agent starts: how the benchmark is started in a sandbox.
SANDBOX = "sandbox.json"
FACTS = "facts.json"
METRICS = "metrics.json"
EXIT = "exit.json"

#: Files that are meaningful only on the machine of the agent.
ALIVE = "alive"
FIFO = "fifo"
#: The agent's own stdout and stderr.
AGENT_LOG = "agent.log"
#: The hosts of an MPI launcher, the folder with the program that starts the agent of a rank, and the options of that agent.
HOSTS, PROGRAMS, RANK_OPTIONS = "hostfile", "programs", "rank.json"
#: The other replicas of the run, for the agent of this one; see ``agent/group``.
GROUP = "group.json"
#: One byte for each execution that the replica was ready to begin.
STEPS = "steps"
#: Results of the probes of a server: it is ready; why the run must end.
READY, UNHEALTHY = "server-ready", "server-unhealthy"
#: A request to end the run.
CANCEL = "cancel"
#: Disk space that is released when the run has ended.
BALLAST = "ballast"
#: The default working folder of a benchmark.
WORK = "work"

#: A file under construction has the name of the file it replaces and this suffix.
PART = ".part"

#: Files that are written and replaced atomically. All other files are only appended to.
REPLACED = frozenset({OPTIONS, PATTERNS, ENVIRONMENT, DATA, FACTS, METRICS, EXIT})
#: Files that grow and are replicated, in an order such that no file refers to bytes that are not replicated yet.
GROWING = (*STREAMS, EVENTS, TELEMETRY, AGENT_LOG, LINES, SAMPLES)
#: Files that are replaced and are replicated. EXIT is last: where it exists, the record is complete.
REPLACED_IN_ORDER = (OPTIONS, PATTERNS, ENVIRONMENT, DATA, FACTS, METRICS, EXIT)

#: Role and rank of a benchmark that is one process.
BENCHMARK, FIRST_RANK = "benchmark", 0

_RUN = re.compile(r"[0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12}", re.IGNORECASE)
_ATTEMPT = re.compile(r"a([1-9][0-9]{0,8})")
_ROLE = re.compile(r"[\w-]{1,100}")
_LONGEST_NAME, _LONGEST_PART = 4000, 255
_MOST_RANKS = 10**9


def is_run_id(text: str) -> bool:
    """Whether a folder of this name is the record of a run."""
    return _RUN.fullmatch(text) is not None


def attempt_name(attempt: int) -> str:
    """Name of the folder of an attempt in the folder of its run."""
    return f"a{attempt}"


def attempt_of(name: str) -> int | None:
    """The number of the attempt with this folder name; None for any other name."""
    match = _ATTEMPT.fullmatch(name)
    return int(match.group(1)) if match else None


def role_folder(
    records: str, run_id: str, attempt: int, role: str = BENCHMARK, rank: int = FIRST_RANK
) -> str:
    """The folder of one role and rank, below the folder of all records. Raises ValueError."""
    if not is_run_id(run_id):
        raise ValueError(f"{run_id!r} is not a run id")
    check_role(attempt, role, rank)
    return f"{records}/{run_id}/{attempt_name(attempt)}/{role}/{rank}"


def check_role(attempt: int, role: str, rank: int) -> None:
    """Raises ValueError unless a record can have this attempt, role and rank."""
    if not (0 < attempt < 10**9 and 0 <= rank < _MOST_RANKS and _ROLE.fullmatch(role)):
        raise ValueError(f"no record has attempt {attempt}, role {role!r}, rank {rank}")


def check_file(name: str) -> None:
    """Raises ValueError unless this is the name of a file below the folder of a role."""
    parts = name.split("/")
    lengths_fit = all(0 < len(part.encode("utf-8", "surrogateescape")) <= _LONGEST_PART for part in parts)
    if not lengths_fit or len(name) > _LONGEST_NAME or "\0" in name or not {".", ".."}.isdisjoint(parts):
        raise ValueError(f"{name!r} is not the name of a file in a record")
