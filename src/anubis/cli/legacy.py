"""Translates the spellings of the old system: the ``anubis`` client (``--submit f.toml``) and ``baictl``.

Each use names the new spelling on standard error. Options of the old service are refused with a message.
"""

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence

from anubis.cli import terminal
from anubis.model.errors import BadInputError

#: Actions of the old client: flag -> arguments of the new spelling; the flag's value, if any, is appended.
ACTIONS: Mapping[str, tuple[str, ...]] = {
    "--submit": ("submit",),
    "--status": ("status",),
    "--watch": ("watch",),
    "--results": ("logs",),
    "--result": ("logs",),
    "--show-descriptor": ("descriptor",),
    "--show-desc": ("descriptor",),
    "--cancel": ("cancel",),
    "--abort": ("cancel",),
    "--purge": ("cancel", "--cascade"),
    "--history": ("history",),
    "--last-action-id": ("history", "--limit", "1", "--quiet"),
    "--ping": ("doctor",),
    "--ping-service-endpoint": ("doctor",),
}
#: Flags of the old client that no longer have an effect.
IGNORED = {"--terminate", "--tail", "--force", "--verbose", "--debug", "--banner", "--sync-data"}
#: Flags that managed the connection to the old service.
SERVICE = {
    "--register",
    "--unregister",
    "--show-registered-service-endpoint",
    "--show-registered-service-endpoint-history",
    "--sync-version",
    "--upgrade",
}


def from_old_client(words: Sequence[str]) -> list[str]:
    """The new spelling of a command line whose first word is an option. Raises BadInputError."""
    given = dict(_old_flags(words))
    for flag in given:
        if flag in SERVICE:
            raise BadInputError(
                f"{flag} refers to the old service, which this version does not need",
                remedy="remove it: runs are measured and stored on this machine",
            )
        if flag not in ACTIONS and flag not in IGNORED and flag != "--script":
            raise BadInputError(f"unknown option {flag}", remedy="see anubis --help")
    action = next((flag for flag in given if flag in ACTIONS and flag != "--watch"), None)
    if action is None and "--watch" in given:
        action = "--watch"
    if action is None:
        raise BadInputError("the command line has no action", remedy="see anubis --help")
    return _noted(words, _new_words(action, given))


def _new_words(action: str, given: Mapping[str, str]) -> list[str]:
    value = [given[action]] if given[action] else []
    watched = "--watch" in given
    if action == "--submit":
        if not value:
            raise BadInputError("--submit needs a descriptor file", remedy="anubis submit FILE")
        script = ["--script", given["--script"]] if given.get("--script") else []
        return ["run" if watched else "submit", *value, *script]
    if action == "--status" and watched:
        return ["watch", *value]
    if action in {"--cancel", "--abort", "--purge"} and not value:
        raise BadInputError(f"{action} needs the id of a run", remedy="see anubis history")
    return [*ACTIONS[action], *value]


def _old_flags(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """(flag, value): the old client took all words up to the next flag as the value."""
    flag, values = "", list[str]()
    for word in words:
        if word.startswith("--"):
            if flag:
                yield flag, " ".join(values)
            flag, equals, value = word.partition("=")
            values = [value] if equals else []
        else:
            values.append(word)
    if flag:
        yield flag, " ".join(values)


def from_baictl(words: Sequence[str]) -> list[str]:
    """The new spelling of ``baictl VERB benchmark --OPTION=VALUE``. Raises BadInputError."""
    plain = [word for word in words if not word.startswith("--")]
    given = dict(_old_flags([word for word in words if word.startswith("--")]))
    if not plain and not given.keys() - {"--help"}:
        return ["--help"]
    verb, thing = (*plain, "", "")[:2]
    translate = BAICTL.get(verb)
    if translate is None or thing != "benchmark":
        raise BadInputError(
            f"baictl {' '.join(plain)} is not available in this version",
            remedy=f"available: {', '.join(f'baictl {known} benchmark' for known in BAICTL)}",
        )
    return _noted(words, translate(given), program="baictl")


def _required(given: Mapping[str, str], option: str) -> str:
    if not given.get(option):
        raise BadInputError(f"{option}=VALUE is missing", remedy=f"add {option}=VALUE")
    return given[option]


BAICTL: Mapping[str, Callable[[Mapping[str, str]], list[str]]] = {
    "run": lambda given: ["submit", _required(given, "--descriptor")],
    "list": lambda given: ["history"],  # noqa: ARG005  same signature for all
    "get": lambda given: ["show", _required(given, "--name")],
    "logs": lambda given: ["logs", _required(given, "--name")],
    "delete": lambda given: (
        ["cancel", "--all"] if "--all" in given else ["cancel", _required(given, "--name")]
    ),
}


def _noted(old: Sequence[str], new: list[str], *, program: str = "anubis") -> list[str]:
    terminal.note(f"{shlex.join([program, *old])} is now spelled: {shlex.join(['anubis', *new])}")
    return new
