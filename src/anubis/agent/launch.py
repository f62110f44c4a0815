"""The agent's one entry: ``exec`` weighs a command, ``extract`` reads a record's output again, ``sample`` watches
the machine. Every verb imports only what it needs: a null run pays for one interpreter and little else. That is why the
modules on the way of ``exec`` import ``posix`` where others import ``os``, which takes 1.2 ms of a null run's 12.
"""

from __future__ import annotations

import posix
import sys

#: Exit code of an extractor that stood back for the benchmark and may not rise again: a new one goes on.
TOO_QUIET = 75

USAGE = """usage: anubis-agent exec --record DIR [--repeats N] [--warmups N] [--timeout-s S] [--grace-s S] [--cwd DIR]
                         [--run-id ID] [--patterns FILE] [--seed N] -- COMMAND ARG...
       anubis-agent extract --record DIR [--patterns FILE] [--fresh]
       anubis-agent sample --record DIR
"""


def main() -> None:
    """Run one verb of ``sys.argv`` and leave the process with its exit code; 2 is a wrong command line."""
    code = _main(sys.argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    posix._exit(
        code
    )  # nothing is left to tidy, and the interpreter's own farewell costs a null run half a millisecond


def _main(words: list[str]) -> int:
    verb = words[0] if words else ""
    try:
        options = Options(words[1:])
    except WrongOptionsError as error:
        sys.stderr.write(f"anubis-agent: {error}\n{USAGE}")
        return 2
    if verb == "exec" and options.command:
        from anubis.agent.session import run
    elif verb == "extract":
        from anubis.agent.extract import run
    elif verb == "sample":
        from anubis.agent.sampler import run
    else:
        sys.stderr.write(USAGE)
        return 2
    return run(options)


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
            self.record = f"{posix.getcwd()}/{self.record}"
        if self.cwd and not self.cwd.startswith("/"):
            self.cwd = f"{posix.getcwd()}/{self.cwd}"
        if not self.patterns and posix.access(self.record + "/patterns.json", posix.R_OK):
            self.patterns = self.record + "/patterns.json"

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
