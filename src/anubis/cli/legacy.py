"""Translates the spellings of the old system: the ``anubis`` client (``--submit f.toml``) and ``baictl``.

Each use names the new spelling on standard error. What this version does not need is refused with what replaces it.
"""

import os
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence

from anubis.cli import terminal
from anubis.client import registration
from anubis.model.errors import BadInputError
from anubis.model.status import Status
from anubis.reporting.status_words import WORDS
from anubis.settings import Settings

#: Actions of the old client: flag -> arguments of the new spelling; the flag's value, if any, is appended.
ACTIONS: Mapping[str, tuple[str, ...]] = {
    "--submit": ("submit",),
    "--status": ("status",),
    "--watch": ("watch",),
    "--results": ("logs",),
    "--result": ("logs",),
    "--inspect": ("show",),
    "-i": ("show",),
    "--show-descriptor": ("descriptor",),
    "--show-desc": ("descriptor",),
    "--write-descriptor": ("descriptor",),
    "--cancel": ("cancel",),
    "--abort": ("cancel",),
    "--purge": ("cancel", "--cascade"),
    "--cancel*": ("cancel", "--cascade"),
    "--history": ("history",),
    "--last-action-id": ("history", "--limit", "1", "--quiet"),
    "--register": ("register",),
    "--unregister": ("unregister",),
    "--show-registered-service-endpoint": ("whoami",),
    "--show-registered-service-endpoint-history": ("whoami",),
    "--ping": ("ping",),
    "--ping-service-endpoint": ("ping",),
    "--get-client-id": ("whoami",),
    "--set-client-id": ("whoami", "--as"),
    "--unset-client-id": ("whoami", "--forget"),
    "--reset-client-id": ("whoami", "--forget"),
    "--check-prerequisites": ("doctor",),
    "--env-setup": ("doctor",),
    "--check-version": ("--version",),
}
#: Flags of the old client that no longer have an effect.
IGNORED = {"--terminate", "--tail", "--force", "--verbose", "--debug", "--banner", "--sync-data"}
#: Actions whose value is not passed on.
_WITHOUT_VALUE = {
    "--unregister",
    "--unset-client-id",
    "--reset-client-id",
    "--env-setup",
    "--check-prerequisites",
    "--check-version",
}
_UPGRADE = """\
This client is a Python package: upgrade it with the tool that installed it.
    pip install --upgrade anubis-bench
"""
_RUN_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def _legend() -> str:
    """The meaning of each status. The old client had a symbol for each service."""
    meanings = {
        Status.FETCH: "its data are fetched",
        Status.PLACE: "it waits for a machine",
        Status.WATCH: "the benchmark is executed",
        Status.COLLECT: "its values are read from the record",
        Status.ANALYSE: "its values are compared with the history",
        Status.ALERT: "alerts about it are stored",
        Status.SUCCEEDED: "it has ended, and its values are stored",
        Status.FAILED: "it has ended; anubis show names the cause",
        Status.CANCELLED: "it was cancelled",
    }
    return "".join(f"{WORDS[status]:12}{meaning}\n" for status, meaning in meanings.items())


#: Flags of the old client that are answered with a text.
ANSWERS: Mapping[str, Callable[[], str]] = {
    "--legend": _legend,
    "--sync-version": lambda: _UPGRADE,
    "--upgrade": lambda: _UPGRADE,
}


def from_old_client(words: Sequence[str]) -> list[str] | None:
    """The new spelling of a command line whose first word is an option; None if it is answered. Raises BadInputError."""
    given = dict(_old_flags(words))
    for flag in given:
        if flag not in ACTIONS and flag not in ANSWERS and flag not in IGNORED and flag != "--script":
            raise BadInputError(f"unknown option {flag}", remedy="see anubis --help")
    if answered := next((flag for flag in given if flag in ANSWERS), None):
        terminal.line(ANSWERS[answered](), nl=False)
        return None
    action = next((flag for flag in given if flag in ACTIONS and flag != "--watch"), None)
    if action is None and "--watch" in given:
        action = "--watch"
    if action is None and "--banner" in given:
        return ["--help"]
    if action is None:
        raise BadInputError("the command line has no action", remedy="see anubis --help")
    return _noted(words, _new_words(action, given))


def _new_words(action: str, given: Mapping[str, str]) -> list[str]:
    value = [given[action]] if given[action] and action not in _WITHOUT_VALUE else []
    watched = "--watch" in given
    if action == "--submit":
        return _submission(value, given, watched=watched)
    if action == "--status" and watched:
        return ["watch", *value]
    if action in {"--cancel", "--abort", "--purge", "--cancel*"} and not value:
        raise BadInputError(f"{action} needs the id of a run", remedy="see anubis history")
    if action == "--register":
        return ["register", *_address(given[action])]
    if action in {"--ping", "--ping-service-endpoint"} and not _has_service():
        return ["doctor"]
    if action == "--set-client-id" and not value:
        raise BadInputError("--set-client-id needs a name", remedy="anubis whoami --as NAME")
    if action in {"--inspect", "-i"}:
        return _inspection(given[action])
    return [*ACTIONS[action], *value]


def _submission(value: list[str], given: Mapping[str, str], *, watched: bool) -> list[str]:
    if not value:
        raise BadInputError("--submit needs a descriptor file", remedy="anubis submit FILE")
    if _RUN_ID.fullmatch(value[0].lower()):
        return ["replay", *value]
    script = ["--script", given["--script"]] if given.get("--script") else []
    return ["run" if watched else "submit", *value, *script]


def _has_service() -> bool:
    return registration.url_of(Settings.from_env(os.environ)) is not None


def _address(value: str) -> list[str]:
    if not value:
        raise BadInputError("--register needs HOST:PORT", remedy="anubis register http://HOST:PORT")
    return [value if "://" in value else f"http://{value}"]


def _inspection(value: str) -> list[str]:
    """A message by the first group of its id, which is the number of an event, of a run or of the last one."""
    message, _, run = value.partition(" ")
    digits = message.partition("-")[0]
    if not re.fullmatch(r"[0-9a-fA-F]{8}", digits):
        raise BadInputError(
            f"--inspect needs the first group of the id of a message, got {message!r}",
            remedy="anubis show RUN --json contains all messages",
        )
    return ["show", *([run] if run else []), "--event", str(int(digits, 16))]


def _old_flags(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """(flag, value): the old client took all words up to the next flag as the value."""
    flag, values = "", list[str]()
    for word in words:
        if word.startswith("--") or word == "-i":
            if flag:
                yield flag, " ".join(values)
            flag, equals, value = word.partition("=")
            values = [value] if equals else []
        else:
            values.append(word)
    if flag:
        yield flag, " ".join(values)


def from_baictl(words: Sequence[str]) -> list[str]:
    """The new spelling of ``baictl VERB OBJECT --OPTION=VALUE``. Raises BadInputError."""
    plain = [word for word in words if not word.startswith("--")]
    given = dict(_old_flags([word for word in words if word.startswith("--")]))
    if "--help" in given or (not plain and not given):
        return ["--help"]
    verb, thing = (*plain, "", "")[:2]
    translate = BAICTL.get((verb, thing))
    if translate is None:
        known = ", ".join(f"baictl {' '.join(pair)}" for pair in BAICTL)
        raise BadInputError(
            f"baictl {' '.join(plain)} is not available in this version",
            remedy=REPLACED.get((verb, thing), f"available: {known}"),
        )
    return _noted(words, translate(given), program="baictl")


def _required(given: Mapping[str, str], option: str) -> str:
    if not given.get(option):
        raise BadInputError(f"{option}=VALUE is missing", remedy=f"add {option}=VALUE")
    return given[option]


BAICTL: Mapping[tuple[str, str], Callable[[Mapping[str, str]], list[str]]] = {
    ("run", "benchmark"): lambda given: ["submit", _required(given, "--descriptor")],
    ("schedule", "benchmark"): lambda given: ["schedule", "add", _required(given, "--descriptor")],
    ("list", "benchmark"): lambda given: ["history"],  # noqa: ARG005  same signature for all
    ("get", "benchmark"): lambda given: ["show", _required(given, "--name")],
    ("logs", "benchmark"): lambda given: ["logs", _required(given, "--name")],
    ("logs", "pod"): lambda given: ["logs", _required(given, "--name")],
    ("delete", "benchmark"): lambda given: (
        ["cancel", "--all"] if "--all" in given else ["cancel", _required(given, "--name")]
    ),
    ("validate", "infra"): lambda given: ["doctor"],  # noqa: ARG005
}
#: What replaces a command that has no new spelling.
REPLACED: Mapping[tuple[str, str], str] = {
    (
        "create",
        "infra",
    ): "no infrastructure is needed: start the service with anubis serve, or only use anubis run",
    ("destroy", "infra"): "there is no infrastructure: end anubis serve; its data are in the home folder",
    ("sync", "infra"): "there is no state of infrastructure; to copy the data, use anubis backup",
    ("get", "infra"): "there is no infrastructure; anubis doctor describes this machine",
    (
        "port-forward",
        "infra",
    ): "connect to the service with ssh -L 8080:127.0.0.1:8080 MACHINE; it has /metrics for Prometheus",
    ("show", "k8s-dashboard"): "use the dashboard of your cluster; anubis show RUN describes a run",
}


def _noted(old: Sequence[str], new: list[str], *, program: str = "anubis") -> list[str]:
    terminal.note(f"{shlex.join([program, *old])} is now spelled: {shlex.join(['anubis', *new])}")
    return new
