"""Why a run did not succeed: a closed list, so that people and retry rules can rely on it."""

from enum import StrEnum


class Cause(StrEnum):
    """The cause of a final status; ``remedy`` is the first thing to try."""

    USER_ERROR = "user_error"
    COMMAND_NOT_FOUND = "command_not_found"
    OUT_OF_MEMORY = "out_of_memory"
    DISK_FULL = "disk_full"
    TIMEOUT = "timeout"
    FETCH_TIMEOUT = "fetch_timeout"
    START_TIMEOUT = "start_timeout"
    RUN_TIMEOUT = "run_timeout"
    MAX_COST = "max_cost"
    BUDGET = "budget"
    METRIC_MISSING = "metric_missing"
    METRIC_UNITS = "metric_units"
    CONTAMINATED = "contaminated"
    CANCELLED = "cancelled"
    NEED = "need"
    NOT_PERMITTED = "not_permitted"
    LOST = "lost"
    NO_CAPACITY = "no_capacity"
    PREEMPTED = "preempted"
    IMAGE_PULL = "image_pull"
    IMAGE_NOT_FOUND = "image_not_found"
    IMAGE_REFUSED = "image_refused"
    WRONG_ARCHITECTURE = "wrong_architecture"
    NO_ENTRY_POINT = "no_entry_point"
    DATA = "data"
    DATA_NOT_FOUND = "data_not_found"
    DATA_FORBIDDEN = "data_forbidden"
    DATA_UNAVAILABLE = "data_unavailable"
    DATA_TRUNCATED = "data_truncated"
    DATA_REDIRECTS = "data_redirects"
    DATA_SLOW = "data_slow"
    DATA_CHANGED = "data_changed"
    DATA_DIGEST = "data_digest"
    DATA_ADDRESS = "data_address"
    DATA_ARCHIVE = "data_archive"
    SERVER_NOT_READY = "server_not_ready"
    SERVER_ENDED = "server_ended"
    SERVER_UNHEALTHY = "server_unhealthy"
    RANK_MISSING = "rank_missing"
    EXTRACTION_FAILED = "extraction_failed"
    RECORD_DAMAGED = "record_damaged"
    INTERNAL = "internal"

    @property
    def transient(self) -> bool:
        """Whether the same run may succeed if it is repeated without a change of the benchmark or its descriptor."""
        return self in _TRANSIENT

    @property
    def remedy(self) -> str:
        """The first thing to try, one sentence."""
        return _REMEDIES[self]


_TRANSIENT = {
    Cause.CONTAMINATED,
    Cause.DISK_FULL,
    Cause.LOST,
    Cause.NO_CAPACITY,
    Cause.PREEMPTED,
    Cause.IMAGE_PULL,
    Cause.DATA_UNAVAILABLE,
    Cause.DATA_TRUNCATED,
    Cause.DATA_SLOW,
    Cause.EXTRACTION_FAILED,
    Cause.RECORD_DAMAGED,
}

_REMEDIES = {
    Cause.USER_ERROR: "read its output with anubis logs; after a memory error or signal 9, check hardware.memory_gb",
    Cause.COMMAND_NOT_FOUND: "check the command: the program must exist on the machine that runs it; pipes and other shell syntax need sh -c",
    Cause.OUT_OF_MEMORY: "give the benchmark more memory or make it use less",
    Cause.DISK_FULL: "free disk space, or set ANUBIS_HOME to a larger disk, and run again",
    Cause.TIMEOUT: "raise measure.timeout_s if the benchmark needs more time",
    Cause.FETCH_TIMEOUT: "raise limits.fetch_timeout_s; what was fetched is kept, so the next run continues with it",
    Cause.START_TIMEOUT: "raise limits.start_timeout_s, or pull the image on the machine before",
    Cause.RUN_TIMEOUT: "raise limits.run_timeout_s, or measure fewer repeats",
    Cause.MAX_COST: "raise hardware.max_cost, or measure fewer repeats or on a cheaper machine",
    Cause.BUDGET: "raise sweep.max_cost or sweep.max_run_s, then start a new sweep with anubis sweep run; what was measured is stored",
    Cause.METRIC_MISSING: "compare the pattern with the closest lines shown, or set required = false",
    Cause.METRIC_UNITS: "emit a metric in one unit, or in units of one quantity such as s and ms",
    Cause.CONTAMINATED: 'run on a quieter machine, or set measure.on_contamination = "keep"',
    Cause.CANCELLED: "submit it again if it was cancelled by mistake",
    Cause.NOT_PERMITTED: "let an administrator permit it with anubis project permit, or change the descriptor",
    Cause.NEED: "correct the run that it needs, then submit both again",
    Cause.LOST: "run it again: the agent was killed or the machine restarted",
    Cause.NO_CAPACITY: "wait for a free machine, or raise hardware.max_wait_s",
    Cause.PREEMPTED: "run it again, or choose capacity that cannot be preempted",
    Cause.IMAGE_PULL: "check the network and the registry of env.docker_image, then run it again",
    Cause.IMAGE_NOT_FOUND: "check the name and the tag of env.docker_image",
    Cause.IMAGE_REFUSED: "check the name of env.docker_image, and log in to its registry",
    Cause.WRONG_ARCHITECTURE: "use an image that was built for the processor of the machine",
    Cause.NO_ENTRY_POINT: "set ml.benchmark_code: the image has neither an entry point nor a command",
    Cause.DATA: "check data.sources: the address, the path, the digest and the network",
    Cause.DATA_NOT_FOUND: "check the address in data.sources: the server has nothing there",
    Cause.DATA_FORBIDDEN: "check the credentials of the source and what they permit",
    Cause.DATA_UNAVAILABLE: "run it again when the server of the data can be reached; what was fetched is kept",
    Cause.DATA_TRUNCATED: "check the server and the proxies before it: they end responses early",
    Cause.DATA_REDIRECTS: "set src to the final address",
    Cause.DATA_SLOW: "check the network, or lower ANUBIS_DATA_MIN_BYTES_PER_S",
    Cause.DATA_CHANGED: "fetch an address whose content does not change, or wait until the upload to it has ended",
    Cause.DATA_DIGEST: "check the digest in data.sources, and whether the data at the address were replaced",
    Cause.DATA_ADDRESS: "use an address that this installation may reach, or let the operator allow it: ANUBIS_DATA_HOSTS, ANUBIS_DATA_FOLDERS, ANUBIS_DATA_LINK_LOCAL",
    Cause.DATA_ARCHIVE: "repair the archive, or set unpack = false",
    Cause.SERVER_NOT_READY: "read its output with anubis logs --role server; check the probe, or raise its max_wait_seconds",
    Cause.SERVER_ENDED: "read its output with anubis logs --role server",
    Cause.SERVER_UNHEALTHY: "read its output with anubis logs --role server; check server.env.liveness_probe",
    Cause.RANK_MISSING: "read the output of the rank with anubis logs --rank N; every rank must run to its end",
    Cause.EXTRACTION_FAILED: "check the disk and the memory of the machine, then run it again: the output is in the record",
    Cause.RECORD_DAMAGED: "run it again; a benchmark must not change the files of its record",
    Cause.INTERNAL: "report this defect of Anubis with the record of the run",
}
