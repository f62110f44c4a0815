"""The samples of a record, derived again from the output if the extractor beside the benchmark did not finish."""

import contextlib
import logging
import math
import os
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import unquote_to_bytes, urlsplit

from anubis.contracts.records import RecordKey, Records, RoleFiles, blocks_of
from anubis.model.points import SampleBlock
from anubis.pipeline.launch import HOST_AGENT
from anubis.record import layout
from anubis.record.reading import Record
from anubis.record.validation import DamagedError

log = logging.getLogger(__name__)

#: An extractor that needs longer than at this rate plus a minute is stuck (it reads at least 30 MB/s).
SLOWEST_BYTES_PER_S = 5_000_000
PATIENCE_S = 60.0
LONGEST_S = 3600.0
#: How often an extractor is started if it is killed from outside, and how often a running one is looked at, seconds.
MOST_ATTEMPTS = 5
LOOK_EVERY_S = 1.0
_LONGEST_MESSAGE = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Extracted:
    """The samples of a record."""

    blocks: Sequence[SampleBlock]
    #: Why samples may be missing; empty: all values in the output are among them.
    problem: str = ""
    #: Metrics in several units that cannot be converted, as sentences.
    conflicts: Sequence[str] = ()


def extracted(records: Records, key: RecordKey) -> Extracted:
    """All samples of a record. Extracts them again, in a separate process, unless they are complete."""
    record = Record(RoleFiles(records, key))
    found = _read(record)
    if not found.problem:
        return found
    log.info("extracting the samples of run %s again: %s", key.run_id, found.problem)
    problem = _extract_again(records, key, record)
    again = _read(Record(record.files), is_last=not problem)
    return replace(again, problem=problem or again.problem)


def _read(record: Record, *, is_last: bool = False) -> Extracted:
    """The samples in the record. ``is_last``: an extractor has just read the output of an agent that was killed too."""
    outcome = record.exit.get("extraction")
    try:
        if outcome == "none" or not (record.exit or record.has_output):
            return Extracted(blocks=())
        samples, complete, conflicts = record.extracted()
    except DamagedError as error:
        return Extracted(blocks=(), problem=str(error))
    blocks = blocks_of(samples)
    if not all(map(_is_finite, blocks)):
        return Extracted(blocks=(), problem=f"{layout.SAMPLES} contains a value that is not finite")
    if is_last:
        complete = complete or not record.exit
    elif outcome != "complete":
        complete = False
    problem = "" if complete else "the extractor did not read the whole output"
    return Extracted(blocks=blocks, problem=problem, conflicts=conflicts)


def _is_finite(block: SampleBlock) -> bool:
    if math.isfinite(sum(block.values)) and math.isfinite(sum(block.times_s)):
        return True
    return all(map(math.isfinite, block.values)) and all(map(math.isfinite, block.times_s))


def _extract_again(records: Records, key: RecordKey, record: Record) -> str:
    """Run the extractor on the whole output; why it failed, or empty."""
    address = urlsplit(records.url(key))
    if address.scheme != "file":
        return "the record is not on this machine"
    folder = os.fsdecode(unquote_to_bytes(address.path))
    try:
        sizes = [state.size_bytes for stream in layout.STREAMS if (state := record.files.state(stream))]
    except DamagedError as error:
        return str(error)
    longest_s = min(PATIENCE_S + sum(sizes) / SLOWEST_BYTES_PER_S, LONGEST_S)
    words = [*HOST_AGENT, "extract", "--record", folder, "--fresh"]
    problem = ""
    for _ in range(MOST_ATTEMPTS):
        try:
            code, message = _run(words, longest_s)
        except OSError as error:
            return _failed(folder, f"the extractor could not be started: {error}")
        if code == 0:
            return ""
        problem = _failed(folder, f"the extractor {message}")
        if code > 0:  # not killed: it would fail again
            break
    return problem


def _run(words: Sequence[str], longest_s: float) -> tuple[int, str]:
    """Run an extractor; its exit code, negative if it was killed from outside, and why it failed."""
    with subprocess.Popen(
        words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as process:
        until_s = time.monotonic() + longest_s
        while True:
            try:
                _, errors = process.communicate(timeout=LOOK_EVERY_S)
                break
            except subprocess.TimeoutExpired:
                if time.monotonic() > until_s:
                    process.kill()
                    return 1, f"took longer than {longest_s:.0f} s"
                process.send_signal(signal.SIGCONT)  # it may have been stopped
    if process.returncode < 0:
        return process.returncode, f"was killed by signal {-process.returncode}"
    lines = errors[-_LONGEST_MESSAGE:].decode(errors="replace").split("\n")
    last = next((line for line in reversed(lines) if line.strip()), f"exit status {process.returncode}")
    return process.returncode, f"failed: {last}"


def _failed(folder: str, problem: str) -> str:
    """Delete what the extractor has left; returns the problem."""
    for part in Path(folder).glob(f"{layout.SAMPLES}-*{layout.PART}"):
        with contextlib.suppress(OSError):
            part.unlink()
    return problem
