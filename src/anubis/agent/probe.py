"""``probe``: checks whether a server is ready, then whether it is alive, until its agent ends.

The results are files in the record of the server: ``ready``, or ``unhealthy`` with the cause that ends the run.
"""

from __future__ import annotations

import os
import shlex
import socket
import subprocess
import time
from json import dumps, load

from anubis.agent.group import SERVER_NOT_READY, SERVER_UNHEALTHY
from anubis.record import access, layout, liveness
from anubis.record.files import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Mapping

    from anubis.agent.options import Options

_LOOPBACK = "127.0.0.1"
#: How often to check that the agent of the server still runs, seconds.
_LOOK_S = 0.5
#: Bytes of a response that are read: its first line.
_LONGEST_STATUS = 4096


class FailedProbeError(Exception):
    """A probe failed; the text says why."""


def run(options: Options) -> int:
    """Probe until the agent of the server has ended, or a probe has failed for good."""
    with open(options.group, encoding="utf-8") as file:
        facts = load(file)
    readiness, liveness_probe = facts["readiness"], facts["liveness"]
    probing = _Probing(options.record)
    ready = f"{options.record}/{layout.READY}"
    if not os.path.exists(ready):
        if readiness and not probing.becomes_ready(readiness):
            return 0
        os.close(access.create(ready, os.O_WRONLY))
    if liveness_probe:
        probing.watch(liveness_probe)
    return 0


class _Probing:
    """The probes of one server."""

    def __init__(self, record: str) -> None:
        self._record = record

    def becomes_ready(self, probe: Mapping[str, Any]) -> bool:
        """Wait until the probe has succeeded often enough; False: it did not, or the agent has ended."""
        until = time.monotonic() + probe["max_wait_seconds"]
        if not self._pause(probe["initial_delay_seconds"]):
            return False
        successes = 0
        while True:
            problem = problem_of(probe)
            successes = 0 if problem else successes + 1
            if successes >= probe["success_threshold"]:
                return True
            if time.monotonic() > until:
                limit = f"{probe['max_wait_seconds']} s"
                self._fail(
                    SERVER_NOT_READY,
                    f"The server was not ready within {limit}: {problem or 'too few successes'}.",
                )
                return False
            if not self._pause(probe["period_seconds"]):
                return False

    def watch(self, probe: Mapping[str, Any]) -> None:
        """Probe until it has failed too often, or the agent has ended."""
        failures = 0
        pause_s = probe["initial_delay_seconds"]
        while self._pause(pause_s):
            pause_s = probe["period_seconds"]
            problem = problem_of(probe)
            failures = failures + 1 if problem else 0
            if failures >= probe["failure_threshold"]:
                times = f"{failures} times in a row"
                self._fail(SERVER_UNHEALTHY, f"The liveness probe of the server failed {times}: {problem}.")
                return

    def _pause(self, seconds: float) -> bool:
        """Wait; False: the agent has ended."""
        until = time.monotonic() + seconds
        while liveness.state(self._record) == liveness.ALIVE:
            left_s = until - time.monotonic()
            if left_s <= 0:
                return True
            time.sleep(min(left_s, _LOOK_S))
        return False

    def _fail(self, cause: str, reason: str) -> None:
        replace(self._record, layout.UNHEALTHY, dumps({"cause": cause, "reason": reason}).encode() + b"\n")


def problem_of(probe: Mapping[str, Any]) -> str:
    """Why the probe fails now; empty: it succeeds."""
    try:
        if probe["command"]:
            return _command(probe["command"], probe["timeout_seconds"])
        if probe["path"]:
            return _request(probe)
        with socket.create_connection((_LOOPBACK, probe["port"]), timeout=probe["timeout_seconds"]):
            return ""
    except OSError as error:  # also timeouts and certificates
        return f"{_about(probe)}: {error.strerror or error}"


def _about(probe: Mapping[str, Any]) -> str:
    if probe["command"]:
        return shlex.join(probe["command"])
    return f"{probe['scheme'] if probe['path'] else 'port'} {_LOOPBACK}:{probe['port']}{probe['path'] or ''}"


def _command(words: list[str], timeout_s: float) -> str:
    try:
        ended = subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"{shlex.join(words)} ran longer than {timeout_s} s"
    return f"{shlex.join(words)} ended with exit code {ended.returncode}" if ended.returncode else ""


def _request(probe: Mapping[str, Any]) -> str:
    """Request the path. As in Kubernetes, the certificate of the server is not checked, and 2xx and 3xx are successes."""
    until = time.monotonic() + probe["timeout_seconds"]
    with socket.create_connection((_LOOPBACK, probe["port"]), timeout=probe["timeout_seconds"]) as plain:
        connection = _encrypted(plain) if probe["scheme"] == "https" else plain
        host = f"{_LOOPBACK}:{probe['port']}"
        head = (
            f"GET {probe['path']} HTTP/1.0\r\nHost: {host}\r\nUser-Agent: anubis\r\nConnection: close\r\n\r\n"
        )
        connection.sendall(head.encode())
        received = b""
        while b"\n" not in received and len(received) < _LONGEST_STATUS:
            left_s = until - time.monotonic()
            if left_s <= 0:
                return f"{_about(probe)}: no answer within {probe['timeout_seconds']} s"
            connection.settimeout(left_s)
            part = connection.recv(_LONGEST_STATUS)
            if not part:
                break
            received += part
    words = received.split(b"\n")[0].split()
    if len(words) < 2 or not words[0].startswith(b"HTTP/") or not words[1].isdigit():
        return f"{_about(probe)}: the answer is not HTTP"
    status = int(words[1])
    return "" if 200 <= status < 400 else f"{_about(probe)}: status {status}"


def _encrypted(plain: socket.socket) -> socket.socket:
    import ssl

    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context.wrap_socket(plain)
