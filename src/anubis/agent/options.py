"""The command line of the agent."""

from __future__ import annotations

import os

from anubis.record import layout

#: Exit code of an extractor whose priority was lowered and cannot be raised again: a new one continues.
TOO_QUIET = 75


class WrongOptionsError(ValueError):
    """The command line cannot be understood."""


class Options:
    """What the engine asks the agent to do."""

    __slots__ = (
        "command",
        "cwd",
        "fresh",
        "grace_s",
        "patterns",
        "record",
        "repeats",
        "run_id",
        "seed",
        "timeout_s",
        "warmups",
    )

    def __init__(self, words: list[str]) -> None:
        #: Folder of this role and rank; made when it is not there.
        self.record = ""
        #: Measured executions, and executions before them that are not measured.
        self.repeats = 1
        self.warmups = 0
        #: Wall clock of one execution, and how long it may take to end after SIGTERM.
        self.timeout_s = 86_400.0
        self.grace_s = 10.0
        #: Working folder of the benchmark; empty: the agent's.
        self.cwd = ""
        self.run_id = ""
        #: Path of ``{metric: {"pattern": ..., "units": ...}}``; empty: none declared.
        self.patterns = ""
        self.seed = 0
        #: Read the whole output again instead of going on where the last extraction stopped.
        self.fresh = False
        #: Exec form.
        self.command: list[str] = []
        self._read(words)
        if not self.record:
            raise WrongOptionsError("--record DIR is missing")
        if not self.record.startswith("/"):
            self.record = f"{os.getcwd()}/{self.record}"
        if self.cwd and not self.cwd.startswith("/"):
            self.cwd = f"{os.getcwd()}/{self.cwd}"
        patterns = f"{self.record}/{layout.PATTERNS}"
        if not self.patterns and os.access(patterns, os.R_OK):
            self.patterns = patterns

    def _read(self, words: list[str]) -> None:
        at = 0
        while at < len(words):
            word = words[at]
            if word == "--":
                self.command = words[at + 1 :]
                return
            if word == "--fresh":
                self.fresh = True
                at += 1
                continue
            name = word[2:].replace("-", "_")
            if not word.startswith("--") or name in {"command", "fresh"} or name not in self.__slots__:
                raise WrongOptionsError(f"unknown option {word!r}")
            if at + 1 == len(words):
                raise WrongOptionsError(f"{word} needs a value")
            self._set(name, word, words[at + 1])
            at += 2

    def _set(self, name: str, word: str, text: str) -> None:
        kind = type(getattr(self, name))
        try:
            value = kind(text)
        except ValueError:
            raise WrongOptionsError(f"{word} {text!r} is not a number") from None
        if kind is not str and not value >= (1 if name == "repeats" else 0):
            raise WrongOptionsError(f"{word} {text!r} is too small")
        setattr(self, name, value)
