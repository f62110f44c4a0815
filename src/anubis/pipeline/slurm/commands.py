"""Calls of Slurm's programs, at most two a second for all runs of a process."""

import os
import re
import shutil
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence

from anubis.model.errors import AnubisError
from anubis.pipeline.slurm.listing import Listing, ListingError, read

#: Least time between two calls, seconds.
PAUSE_S = 0.5
#: A command that takes longer is ended, seconds.
PATIENCE_S = 60.0
#: Bytes of ids in one command line.
_LONGEST_LIST = 60_000
#: What the programs say if the controller or the accounting daemon does not respond, or cannot serve now.
_AWAY = re.compile(
    r"unable to contact|connection (refused|timed out|reset)|socket timed out|zero bytes were transmitted|"
    r"temporarily unable|temporarily unavailable|in standby|no route to host|unexpected message|"
    r"communication (connection|shutdown) failure|failed to open persistent connection|transport endpoint",
    re.IGNORECASE,
)
#: What sbatch says if this user has too many elements in the queue now.
_FULL = re.compile(r"Submit_?Jobs?(PerUser|PerAccount)?_?Limit|job submit limit|MaxSubmitJob", re.IGNORECASE)
#: What sacct says on a cluster without accounting.
_NO_ACCOUNTING = re.compile(r"accounting storage is disabled|accounting is not enabled", re.IGNORECASE)
#: Variables of this process that Slurm's programs need. Those of the benchmark are passed in a private file.
_KEPT = re.compile(
    r"(PATH|HOME|USER|LOGNAME|SHELL|LANG|LC_\w+|TZ|SLURM_CONF|SLURM_CLUSTERS|S(BATCH|QUEUE|ACCT)_\w+)"
)


class SlurmError(AnubisError):
    """Slurm refused a request. The message has its words."""


class SlurmAwayError(SlurmError):
    """Slurm does not respond now: it is not known whether it has carried out the request."""


class SlurmFullError(SlurmError):
    """Slurm accepts no more elements of this user now."""


class SlurmNoAccountingError(SlurmError):
    """The cluster keeps no accounting."""


class Commands:
    """Slurm's programs, found in the search path."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environment = {name: text for name, text in environ.items() if _KEPT.fullmatch(name)}
        self._path = environ.get("PATH", os.defpath)
        self._next_s = 0.0
        #: Number of calls so far.
        self.calls = 0
        self._lock = threading.Lock()

    @property
    def program(self) -> str:
        """The path of sbatch; empty: it is not installed."""
        return shutil.which("sbatch", path=self._path) or ""

    def may_call(self) -> bool:
        """Whether a call now would not exceed the rate."""
        return time.monotonic() >= self._next_s

    def submit(self, words: Sequence[str], script: str) -> str:
        """The id of a new array. Raises SlurmError."""
        printed = self._call("sbatch", "--parsable", *words, text=script)
        match = re.search(r"^(\d+)(;|$)", printed, re.MULTILINE)
        if match is None:
            raise SlurmAwayError(f"sbatch printed no id: {printed.strip()!r}")
        return match[1]

    def queue(self) -> Listing:
        """What the controller knows about this user's arrays. Raises SlurmAwayError."""
        return self._listed("squeue", "--json", "--me", "--states=all")

    def accounting(self, arrays: Sequence[str], names: Sequence[str] = ()) -> Listing:
        """What is recorded about these arrays, given by id and by name. Raises SlurmAwayError."""
        if names:
            return self._listed("sacct", "--json", f"--name={_joined(names)}", "--starttime=now-30days")
        return self._listed("sacct", "--json", f"--jobs={_joined(arrays)}")

    def cancel(self, elements: Sequence[str]) -> None:
        """End these elements. Raises SlurmError."""
        self._call("scancel", *elements)

    def _listed(self, *words: str) -> Listing:
        try:
            return read(self._call(*words))
        except ListingError as error:
            raise SlurmAwayError(f"{words[0]} printed no valid JSON: {error}") from error
        except (SlurmAwayError, SlurmNoAccountingError):
            raise
        except (
            SlurmError
        ) as error:  # a query changes nothing, so every failure means that the answer is not known
            raise SlurmAwayError(error.message) from error

    def _call(self, program: str, *words: str, text: str | None = None) -> str:
        with self._lock:
            wait_s = self._next_s - time.monotonic()
            self._next_s = max(self._next_s, time.monotonic()) + PAUSE_S
            self.calls += 1
        if wait_s > 0:
            time.sleep(wait_s)
        try:
            ended = subprocess.run(
                [shutil.which(program, path=self._path) or program, *words],
                input=text or "",
                capture_output=True,
                timeout=PATIENCE_S,
                check=False,
                text=True,
                errors="replace",
                env=self._environment,
                start_new_session=True,  # Ctrl-C ends the command line, not the submission
            )
        except subprocess.TimeoutExpired:
            raise SlurmAwayError(f"{program} did not end within {PATIENCE_S:g} s") from None
        except OSError as error:
            raise SlurmAwayError(f"{program} cannot be started: {error.strerror}") from error
        if ended.returncode == 0:
            return ended.stdout
        raise _error(program, ended.stderr or ended.stdout, ended.returncode)


def _error(program: str, output: str, code: int) -> SlurmError:
    lines = [re.sub(rf"^{program}: (error: )?", "", line).strip() for line in output.splitlines()]
    message = (
        "; ".join(dict.fromkeys(line for line in lines if line)) or f"{program} ended with exit code {code}"
    )
    if _AWAY.search(message):
        return SlurmAwayError(message)
    if _NO_ACCOUNTING.search(message):
        return SlurmNoAccountingError(message)
    return SlurmFullError(message) if _FULL.search(message) else SlurmError(message)


def _joined(ids: Sequence[str]) -> str:
    """A list of ids; the rest of a list that is too long for a command line is left to the next call."""
    text = ",".join(ids)
    return text if len(text) <= _LONGEST_LIST else text[:_LONGEST_LIST].rpartition(",")[0]
