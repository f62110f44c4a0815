"""Options of the agent: flags of its command line, or a JSON file with the same options."""

from __future__ import annotations

import json
import os

from anubis.record import layout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: Exit code of an extractor whose priority was lowered and cannot be raised without privileges: a new one continues.
PRIORITY_TOO_LOW = 75


#: Beyond every option: an infinite time cannot be counted in nanoseconds.
_ENDLESS = 10**18


#: Least values other than 0.
_LEAST = {"repeats": 1, "nice": -20, "numa": -1}


class WrongOptionsError(ValueError):
    """An option is unknown, or its value is not valid."""


class Options:
    """The options: each attribute below is one, with its name, type and default.

    ``--options FILE`` reads a JSON object of them; ``--timeout-s 60`` sets ``timeout_s``. A later option overrides an
    earlier one.
    """

    #: Folder of this role and rank; created if it does not exist.
    record: str = ""
    #: Measured executions, and executions before them that are not measured.
    repeats: int = 1
    warmups: int = 0
    #: End the warm-ups as soon as a steady state is reached; ``warmups`` is their largest number.
    until_steady: bool = False
    #: Wall clock of one execution, and how long it may take to end after SIGTERM.
    timeout_s: float = 86_400.0
    grace_s: float = 10.0
    #: Working folder of the benchmark; empty: the agent's.
    cwd: str = ""
    run_id: str = ""
    #: Path of a file with ``{metric: {"pattern": ..., "units": ...}}``; empty: the file in the record, if it exists.
    patterns: str = ""
    seed: int = 0
    #: Address of the receiver of the record; empty: the record stays on this machine.
    ship: str = ""
    #: Path of a private file with the receiver's token, or ``/dev/fd/N``; ``exec`` deletes the file once it is read.
    ship_token: str = ""
    #: CPUs on which the benchmark may run, separated by commas; empty: all.
    cpus: str = ""
    #: GPUs that it may use, separated by commas; ``none``: no GPU; empty: all.
    gpus: str = ""
    #: Memory that each of its processes may allocate; 0: no limit.
    memory_bytes: int = 0
    #: Variables of the benchmark, separated by spaces, whose values are replaced by *** in its output.
    masked: str = ""
    #: Name and digest of the image in which the agent runs; empty: not known.
    image: str = ""
    image_digest: str = ""
    #: Path of a JSON object with further variables of the benchmark; empty: the agent's environment has all of them.
    environment: str = ""
    #: Files to lock before the benchmark is executed, separated by colons.
    locks: str = ""
    #: Start every execution with the same layout of memory instead of a random one.
    fixed_layout: bool = False
    #: CPUs to pin the benchmark to ("0-3,8"), or ``auto``: one of each core; empty: no change.
    pin: str = ""
    #: NUMA node whose CPUs and memory the benchmark uses; -1: no change.
    numa: int = -1
    #: Priority of the benchmark, from -20 (first) to 19; 0: no change.
    nice: int = 0
    #: Forget cached files before every execution.
    drop_caches: bool = False
    #: Frequency governor of the machine during the run; empty: no change.
    governor: str = ""
    #: Folder of the machine for what must be put back after kill -9; empty: a run may not change the machine.
    machine_state: str = ""
    #: Where the kernel describes the machine; another path is for tests.
    sysfs: str = "/sys"
    #: Read the whole output again instead of continuing where the last extraction stopped.
    fresh: bool = False

    #: Path of a JSON object about the sandbox of the benchmark, which ``sample`` only needs to be told of; empty: none.
    sandbox: str = ""
    #: Path of a JSON object about the other replicas of the run; empty: there are none.
    group: str = ""
    #: One rank of an MPI launcher: execute once, as repeat ``ANUBIS_REPEAT``, in a record that may have earlier ones.
    is_rank: bool = False

    def __init__(self, words: list[str]) -> None:
        #: The program and its arguments, without a shell.
        self.command: list[str] = []
        self._read(words)
        if not self.record:
            raise WrongOptionsError("--record DIR is missing")
        if not all(number.isdigit() for number in self.cpus.split(",") if number):
            raise WrongOptionsError(f"--cpus {self.cpus!r} is not a list of numbers")
        if not self.record.startswith("/"):
            self.record = f"{os.getcwd()}/{self.record}"
        if self.cwd and not self.cwd.startswith("/"):
            self.cwd = f"{os.getcwd()}/{self.cwd}"
        declared = f"{self.record}/{layout.PATTERNS}"
        if not self.patterns and os.access(declared, os.R_OK):
            self.patterns = declared

    def _read(self, words: list[str]) -> None:
        at = 0
        while at < len(words):
            word = words[at]
            if word == "--":
                self.command = words[at + 1 :]
                return
            name = word[2:].replace("-", "_")
            if name in _FLAGS and word.startswith("--"):
                setattr(self, name, True)
                at += 1
                continue
            if not word.startswith("--") or (name != "options" and name not in NAMES):
                raise WrongOptionsError(f"unknown option {word!r}")
            if at + 1 == len(words):
                raise WrongOptionsError(f"{word} needs a value")
            if name == "options":
                self._read_file(words[at + 1])
            else:
                self._set(name, word, self._number(name, word, words[at + 1]))
            at += 2

    def _number(self, name: str, word: str, text: str) -> Any:
        """The text as the option's type."""
        try:
            return type(getattr(Options, name))(text)
        except ValueError:
            raise WrongOptionsError(f"{word} {text!r} is not a number") from None

    def _read_file(self, path: str) -> None:
        try:
            with open(path, encoding="utf-8") as file:
                values = json.load(file)
        except (OSError, ValueError, RecursionError) as error:
            raise WrongOptionsError(f"the options in {path} cannot be read: {error}") from None
        if not isinstance(values, dict):
            raise WrongOptionsError(f"the options in {path} are not a JSON object")
        for name, value in values.items():
            if name not in NAMES:
                raise WrongOptionsError(f"unknown option {name!r} in {path}")
            kind = type(getattr(Options, name))
            if kind is float and type(value) is int and value < _ENDLESS:
                value = float(value)  # noqa: PLW2901  JSON has one kind of number
            if type(value) is not kind:
                raise WrongOptionsError(f"{name} {value!r} in {path} must be of type {kind.__name__}")
            self._set(name, name, value)

    def _set(self, name: str, word: str, value: Any) -> None:
        if type(value) in (int, float) and not value >= _LEAST.get(name, 0):
            raise WrongOptionsError(f"{word} {str(value)!r} is too small")
        if type(value) in (int, float) and value >= _ENDLESS:
            raise WrongOptionsError(f"{word} {str(value)!r} is too large")
        setattr(self, name, value)


#: Every option, and those without a value on a command line.
NAMES = frozenset(Options.__annotations__)
_FLAGS = frozenset(name for name in NAMES if type(getattr(Options, name)) is bool)
