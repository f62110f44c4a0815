"""The sidecar processes of the agent: the sampler, the extractor, and short-lived forks that call fsync."""

from __future__ import annotations

import os
import sys
from signal import SIGCONT, SIGKILL, SIGTERM
from time import monotonic_ns

from anubis.agent.execute.capture import Capture
from anubis.agent.execute.execution import Family
from anubis.agent.options import PRIORITY_TOO_LOW
from anubis.record import layout
from anubis.record.index_writer import EMIT, STDOUT
from anubis.record.streams import FLOOD_BYTES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from anubis.agent.options import Options

#: The extractor reads at least 30 MB/s. One that needs longer than at this rate plus a minute is stuck and is killed;
#: extraction can be repeated later.
_SLOWEST_BYTES_PER_S = 5_000_000
#: Bytes of output searched for objects at one check: takes a few milliseconds, too short for a pipe to fill.
_SEARCHED_AT_ONCE = 1 << 22


class Sidecars:
    """Sampler and extractor, started after one second so that short runs have no overhead from them."""

    def __init__(self, options: Options, family: Family, capture: Capture) -> None:
        self._options = options
        self._family = family
        self._capture = capture
        self._running: dict[str, int] = {}
        self._syncing = 0
        #: Bytes of stdout that were searched and contain no object.
        self._searched = 0
        self._old_protocol = os.environb.get(b"BENCHMARK_AI", b"").lower() == b"stdout"

    def check(self, elapsed_s: float) -> None:
        """Start the sidecars that are due, and sync the captured output to the disk."""
        sampler = self._running.get("sample")
        if sampler is None or sampler in self._family.ended:  # a running sampler syncs the files itself
            self._sync()
        if elapsed_s < 1:
            return
        if sampler is None:
            self._start("sample")
        if "extract" not in self._running and self._has_samples(_SEARCHED_AT_ONCE):
            self._start("extract")

    def _sync(self) -> None:
        """Sync files that have grown from a short-lived fork, because a slow disk must not block the capture."""
        if self._syncing and not self._family.forget(self._syncing):
            return
        self._syncing = 0
        grown = [spool for spool in self._capture.spools if 0 < spool.size - spool.safe <= FLOOD_BYTES]
        for spool in self._capture.spools:
            spool.safe = spool.size
        if not grown:
            return
        self._syncing = os.fork()
        if self._syncing == 0:
            try:
                self._sync_now([spool.file for spool in grown])
            finally:
                os._exit(0)
        self._family.sidecar_pids.add(self._syncing)

    def finish(self) -> dict[str, object]:
        """End the sidecars once the streams are complete; returns their outcomes and their CPU seconds."""
        if "extract" not in self._running and self._has_samples(self._capture.spools[STDOUT].size):
            self._start("extract")
        for pid in self._running.values():
            if pid not in self._family.ended:
                os.kill(pid, SIGTERM)
                os.kill(pid, SIGCONT)  # a stopped process ends too
        if self._syncing and not self._family.forget(self._syncing):
            os.kill(
                self._syncing, SIGKILL
            )  # the files are synced below; a stopped process would keep the slot
        self._sync_now([spool.file for spool in self._capture.spools if spool.size])
        size = sum(spool.size for spool in self._capture.spools)
        self._wait(60.0 + size / _SLOWEST_BYTES_PER_S)
        if self._exit_code("extract") == PRIORITY_TOO_LOW:
            self._start("extract")
            self._wait(60.0 + size / _SLOWEST_BYTES_PER_S)
        outcome = {verb: "complete" if self._exit_code(verb) == 0 else "failed" for verb in self._running}
        used = sum(row[1] + row[2] for row in self._family.ended.values())
        return {
            "extraction": outcome.get("extract", "none"),
            "sampling": outcome.get("sample", "none"),
            "cpu_s": used,
        }

    def _sync_now(self, files: list[int]) -> None:
        for file in [*files, self._capture.index.file] if files else []:
            try:
                os.fsync(file)
            except OSError:  # disk errors are counted where the data is written
                continue

    def _has_samples(self, limit: int) -> bool:
        """Whether metrics are declared, or were emitted in one of the two protocols.

        Searches at most so many bytes of output after those already searched.
        """
        if self._options.patterns or self._capture.spools[EMIT].size:
            return True
        size = self._capture.spools[STDOUT].size
        if not size or self._old_protocol:
            return bool(size)
        with open(f"{self._options.record}/{layout.STDOUT}", "rb", buffering=0) as file:
            until = min(size - 1, self._searched + limit)
            while self._searched < until:
                file.seek(self._searched)
                data = file.read(1 << 20)
                if b'{"' in data:
                    return True
                self._searched += max(1, len(data) - 1)
        return False

    def _start(self, verb: str) -> None:
        words = [verb, "--record", self._options.record]
        if verb == "extract" and self._options.patterns:
            words += ["--patterns", self._options.patterns]
        if verb == "extract" and self._options.is_rank:  # earlier executions may have been read to their end
            words.append("--fresh")
        if verb == "sample" and self._options.group:
            words += ["--group", self._options.group]
        if verb == "sample" and self._options.sandbox:
            words += ["--sandbox", self._options.sandbox]
        self._running[verb] = spawn(words, self._family)

    def _wait(self, longest_s: float) -> None:
        until = monotonic_ns() + int(longest_s * 1e9)
        while not all(pid in self._family.ended for pid in self._running.values()):
            if not self._family.reap():
                return
            if monotonic_ns() > until:
                for pid in self._running.values():
                    if pid not in self._family.ended:
                        os.kill(pid, SIGKILL)
            self._capture.pump(monotonic_ns() + 1_000_000_000)

    def _exit_code(self, verb: str) -> int | None:
        row = self._family.ended.get(self._running.get(verb, 0))
        return os.WEXITSTATUS(row[0]) if row and os.WIFEXITED(row[0]) else None


def spawn(words: list[str], family: Family) -> int:
    """Start a verb of the agent as a sidecar; returns its process id."""
    start = f"import sys; sys.path.insert(0, {sys.path[0]!r}); from anubis.agent.entry import main; main()"
    command = [*_interpreter(), "-I", "-S", "-c", start, *words]
    # A library that the benchmark preloads is not for the sidecars: in a container, it needs another C library.
    environment = {name: value for name, value in os.environb.items() if name != b"LD_PRELOAD"}
    pid = os.posix_spawn(command[0], command, environment, setpgroup=0, setsigmask=[SIGTERM])
    family.sidecar_pids.add(pid)
    return pid


def _interpreter() -> list[str]:
    """The words that start this interpreter. In a container, a dynamic loader and its options come before its path."""
    try:
        with open("/proc/self/cmdline", "rb", buffering=0) as file:
            words = [os.fsdecode(word) for word in file.read().split(b"\0")]
    except OSError:
        return [sys.executable]
    return words[: words.index(sys.executable) + 1] if sys.executable in words else [sys.executable]
