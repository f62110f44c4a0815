"""The command line of Podman or Docker.

Only commands and options that both have are used, except where a method says so. Neither a daemon nor a library is needed.
"""

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from anubis.model.cause import Cause
from anubis.model.errors import AnubisError, NotReadyError, StageError

#: Programs in the order in which they are looked for. Podman needs no daemon and no privileges.
PROGRAMS = ("podman", "docker")
#: Folder in which commands run. The monitor of a Podman container (conmon) writes a file "oom" into the folder of the command that
#: started it when the container lacks memory; where it may write to this one, the name is that of no file of the user.
FOLDER = tempfile.gettempdir()
#: Ends and removes containers.
REMOVE = ("rm", "--force", "--volumes")
#: A command other than pull takes seconds at most; the daemon does not respond after this time.
PATIENCE_S = 120.0
#: Pause before a tool that does not respond is asked again.
AWAY_S = 5.0
_AWAY = re.compile(
    r"cannot connect to|connection refused|unable to connect|is the docker daemon running|error during connect|"
    r"dial unix|i/o timeout|context deadline exceeded",
    re.IGNORECASE,
)
_FORBIDDEN = re.compile("permission denied", re.IGNORECASE)
_TAKEN = re.compile(r"name .* is already in use", re.IGNORECASE)


class ToolError(AnubisError):
    """A command of the tool failed. The message is the end of its output."""

    @property
    def is_name_taken(self) -> bool:
        """Whether there is a container of this name already."""
        return _TAKEN.search(self.message) is not None


class ContainerTool:
    """Runs commands of one tool."""

    def __init__(self, program: str) -> None:
        #: Absolute where it was found: commands run in another folder.
        self.program = program
        #: Commands whose end is not waited for.
        self._started: list[subprocess.Popen[bytes]] = []

    def call(self, *words: str, with_stderr: bool = False) -> str:
        """The output of a command.

        Raises ToolError, NotReadyError if the tool does not respond, and StageError if this user may not use it.
        """
        try:
            ended = subprocess.run(
                [self.program, *words],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT if with_stderr else subprocess.PIPE,
                timeout=PATIENCE_S,
                check=False,
                cwd=FOLDER,
                start_new_session=True,  # Ctrl-C ends the command line, not the start of a container
            )
        except subprocess.TimeoutExpired:
            raise self._away(f"no response to {words[0]} after {PATIENCE_S:g} s") from None
        except OSError as error:
            raise self._away(str(error)) from error
        if ended.returncode == 0:
            return ended.stdout.decode(errors="replace")
        text = (ended.stdout if with_stderr else ended.stderr).decode(errors="replace")
        problem = last_line(text) or f"exit code {ended.returncode}"
        if _AWAY.search(problem):
            raise self._away(problem)
        raise ToolError(f"{self.name} {words[0]}: {problem}")

    def start(self, *words: str) -> None:
        """Start a command whose result is not needed; it also ends if this process is killed."""
        self._started = [command for command in self._started if command.poll() is None]
        try:
            self._started.append(
                subprocess.Popen(
                    [self.program, *words],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    cwd=FOLDER,
                    start_new_session=True,
                )
            )
        except OSError as error:
            raise self._away(str(error)) from error

    def wait(self) -> None:
        """Wait for the commands that were started."""
        for command in self._started:
            command.wait()

    def inspect(self, kind: str, name: str) -> Mapping[str, Any] | None:
        """What the tool knows about an image or a container; None for an unknown name."""
        try:
            found: list[Mapping[str, Any]] = json.loads(self.call(kind, "inspect", name))
        except ToolError:
            return None
        return found[0]

    def has_ended(self, name: str) -> bool:
        """Whether a container of this name exists and has ended. Raises NotReadyError."""
        found = self.inspect("container", name) or {}
        return found.get("State", {}).get("Status") in {"exited", "stopped", "dead"}

    def logs(self, name: str) -> str | None:
        """The last lines that a container printed; None for an unknown name. Raises NotReadyError."""
        try:
            return self.call("logs", "--tail", "1000", name, with_stderr=True)
        except ToolError:
            return None

    def containers(self, label: str) -> list[str]:
        """The names of all containers with this label, also of those that have ended."""
        return self.call("ps", "--all", "--format", "{{.Names}}", "--filter", f"label={label}").split()

    def end(self, name: str, signal: str = "TERM") -> None:
        """Send a signal to the first process of a container, without waiting."""
        self.start("kill", "--signal", signal, name)

    @property
    def name(self) -> str:
        """The name of the program without its folder."""
        return Path(self.program).name

    @cached_property
    def is_podman(self) -> bool:
        """Whether this is Podman, also under the name ``docker``."""
        return "podman" in self.call("--version").lower()

    @cached_property
    def user(self) -> str:
        """The user of a container whose files belong to the user of this process.

        Without a privileged daemon, the root of a container is the user who started it.
        """
        if (
            os.geteuid() == 0
            or self.is_podman
            or "rootless" in self.call("info", "--format", "{{.SecurityOptions}}")
        ):
            return "0:0"
        return f"{os.geteuid()}:{os.getegid()}"

    def gpu_options(self, gpus: Sequence[str]) -> list[str]:
        """Options that give a container these NVIDIA GPUs: Podman by CDI, Docker by its own option."""
        if not gpus:
            return []
        if self.is_podman:
            return [word for gpu in gpus for word in ("--device", f"nvidia.com/gpu={gpu}")]
        return ["--gpus", f'"device={",".join(gpus)}"']

    def _away(self, problem: str) -> NotReadyError | StageError:
        if _FORBIDDEN.search(problem):
            return StageError(
                f"this user may not use {self.name}: {problem}",
                cause=Cause.USER_ERROR,
                remedy=f"get the right to use {self.name}, or install Podman, which needs none",
            )
        message = f"{self.name} does not respond: {problem} (start its service; {self.name} info checks it)"
        return NotReadyError(message, again_after_s=AWAY_S)


def found(wanted: str, path: str | None) -> str | None:
    """The path of the tool with this name; of the first of PROGRAMS if it is empty; None if it is not installed."""
    return next(
        filter(None, (shutil.which(name, path=path) for name in ([wanted] if wanted else PROGRAMS))), None
    )


def last_line(text: str) -> str:
    """The last line that is not empty."""
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")
