"""Images of containers on this machine: which one a name means now, and one pull however many runs need it."""

import contextlib
import hashlib
import os
import platform
import re
import subprocess
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anubis.model.cause import Cause
from anubis.model.errors import NotReadyError, StageError
from anubis.pipeline.host.container_tool import ContainerTool, last_line
from anubis.pipeline.host.lock_files import take_lock
from anubis.record import access

#: Other runs that need an image whose pull failed get the same answer for this long; seconds.
FAILED_S = 10.0
#: How often a run that waits for a pull is asked again; seconds.
AGAIN_S = 0.5
#: Bytes at the end of the output of a pull that are read.
_LONGEST_OUTPUT = 1 << 16
#: Names of processors in images, by those of the kernel.
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64", "armv7l": "arm", "i686": "386"}
#: What the output of a failed pull contains, and what that means. The first match counts.
_CAUSES = (
    (r"no space left on device|disk quota exceeded", Cause.DISK_FULL),
    (r"no image found in .*for architecture|no matching manifest for", Cause.WRONG_ARCHITECTURE),
    (
        r"unauthorized|denied|forbidden|authentication required|no basic auth credentials|\b40[13]\b",
        Cause.IMAGE_REFUSED,
    ),
    (
        r"manifest unknown|name unknown|not found|no such image|\b404\b|did not resolve to an alias|invalid reference",
        Cause.IMAGE_NOT_FOUND,
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """An image that is stored on this machine."""

    #: Identifies the content on this machine: a tag may move, this cannot.
    id: str
    #: ``NAME@sha256:...`` in its registry, else the id: images that were built here have no other.
    digest: str
    entry_point: tuple[str, ...]
    #: Arguments of the entry point.
    command: tuple[str, ...]
    environment: Mapping[str, str]


@dataclass(slots=True)
class _Pull:
    """A pull that this process started; the lock keeps others from starting the same one."""

    command: "subprocess.Popen[bytes]"
    lock: int
    started_s: float


class Images:
    """The images of one container tool."""

    def __init__(self, tool: ContainerTool, folder: Path) -> None:
        self._tool = tool
        self._folder = folder
        self._pulls: dict[str, _Pull] = {}
        #: Failed pulls: the error, and the monotonic time up to which it answers others.
        self._failed: dict[str, tuple[StageError, float]] = {}
        self._mutex = threading.Lock()

    def get(self, name: str) -> Image:
        """The image that this name means now.

        Raises NotReadyError while it is pulled, StageError if it cannot be had or cannot run here.
        """
        inspected = self._tool.inspect("image", name) or self._tool.inspect("image", qualified(name))
        with self._mutex:
            if inspected is None:
                self._pull(name)
                inspected = self._tool.inspect("image", qualified(name))
            elif name in self._pulls:
                self._finish(name)
        if inspected is None:
            raise StageError(
                f"the image {name} was removed after its pull", cause=Cause.IMAGE_PULL, remedy="run it again"
            )
        return _image(name, inspected)

    def _pull(self, name: str) -> None:
        """Return when a pull has succeeded. Raises NotReadyError before, StageError if it has failed."""
        error, until_s = self._failed.get(name, (None, 0.0))
        if error and time.monotonic() < until_s:
            raise error
        pull = self._pulls.get(name) or self._start(name)
        if pull is None or pull.command.poll() is None:
            waited = f" for {time.monotonic() - pull.started_s:.0f} s" if pull else ""
            progress = last_line(_text(self._output(name))) or "waiting for the registry"
            raise NotReadyError(f"pulling {name}{waited}: {progress}", again_after_s=AGAIN_S)
        text = self._finish(name)
        if pull.command.returncode:
            failure = _failure(name, text)
            self._failed[name] = failure, time.monotonic() + FAILED_S
            raise failure

    def _start(self, name: str) -> _Pull | None:
        """Start a pull; None if another process pulls this image. It continues if this process ends."""
        output = self._output(name)
        access.make_folder(str(self._folder))
        lock = take_lock(output.with_suffix(".lock"))
        if lock is None:
            return None
        with os.fdopen(access.create(str(output), os.O_WRONLY | os.O_TRUNC), "wb") as file:
            command = subprocess.Popen(
                [self._tool.program, "pull", qualified(name)],
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                start_new_session=True,
            )
        self._pulls[name] = _Pull(command=command, lock=lock, started_s=time.monotonic())
        return self._pulls[name]

    def _finish(self, name: str) -> str:
        """Wait for a pull that has ended or stored its image, and let others pull it again; returns its output."""
        pull, output = self._pulls.pop(name), self._output(name)
        pull.command.wait()
        text = _text(output)
        output.unlink(missing_ok=True)
        os.close(pull.lock)
        return text

    def _output(self, name: str) -> Path:
        return self._folder / f"{hashlib.sha256(name.encode()).hexdigest()[:16]}.pull"


def qualified(name: str) -> str:
    """The name with its registry. As in Docker, a name without one is of docker.io; Podman may have no default."""
    first, slash, _ = name.partition("/")
    if slash and (first == "localhost" or "." in first or ":" in first):
        return name
    return f"docker.io/{name}" if slash else f"docker.io/library/{name}"


def _image(name: str, inspected: Mapping[str, Any]) -> Image:
    """Raises StageError if this machine cannot execute it."""
    here = _ARCHITECTURES.get(platform.machine(), platform.machine())
    architecture, system = inspected.get("Architecture") or here, inspected.get("Os") or "linux"
    if (architecture, system) != (here, "linux"):
        raise StageError(
            f"the image {name} is for {system}/{architecture}, this machine is linux/{here}",
            cause=Cause.WRONG_ARCHITECTURE,
            remedy=Cause.WRONG_ARCHITECTURE.remedy,
        )
    config = inspected.get("Config") or {}
    digests = inspected.get("RepoDigests") or [inspected["Id"]]
    repository = qualified(name).partition("@")[0].rpartition(":")[0]
    return Image(
        id=inspected["Id"],
        digest=next((each for each in digests if each.startswith(repository)), digests[0]),
        entry_point=tuple(config.get("Entrypoint") or ()),
        command=tuple(config.get("Cmd") or ()),
        environment=dict(each.partition("=")[::2] for each in config.get("Env") or ()),
    )


def _text(file: Path) -> str:
    """The end of the output of a pull; progress bars are one line for each state."""
    with contextlib.suppress(OSError):
        return file.read_bytes()[-_LONGEST_OUTPUT:].decode(errors="replace").replace("\r", "\n")
    return ""


def _failure(name: str, text: str) -> StageError:
    """The error of a failed pull, with the cause that its output names."""
    cause = next(
        (cause for pattern, cause in _CAUSES if re.search(pattern, text, re.IGNORECASE)), Cause.IMAGE_PULL
    )
    return StageError(
        f"the image {name} cannot be pulled: {last_line(text) or 'no reason was given'}",
        cause=cause,
        remedy=cause.remedy,
    )
