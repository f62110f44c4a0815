"""What the runs of a project may use. The permissions of a project are a closed list of names and patterns."""

from collections.abc import Sequence
from fnmatch import fnmatchcase

from anubis.model.access.roles import FLAGS, PATTERNED
from anubis.model.errors import BadInputError
from anubis.model.problem import Problem

#: Name -> what it permits.
MEANINGS = {
    "privileged": "containers with all rights on their machine (`privileged = true`)",
    "network": "the network, in containers",
    "unsandboxed": "engines that do not separate benchmarks from their machine: `process` without a sandbox, `slurm`",
    "host-files": "datasets with `file:` addresses, which are files of the machine",
    "secrets": "secrets of the installation, and inherited variables with the name of a secret or a setting",
    "engine:PATTERN": "engines with such a name",
    "image:PATTERN": "images with such a name",
}


def permits(permitted: Sequence[str], name: str, value: str = "") -> bool:
    """Whether a flag is permitted, or the value of an engine or image."""
    if name in FLAGS:
        return name in permitted
    patterns = (each.partition(":")[2] for each in permitted if each.startswith(f"{name}:"))
    return any(fnmatchcase(value, pattern) for pattern in patterns)


def changed(
    permitted: Sequence[str], *, permit: Sequence[str] = (), forbid: Sequence[str] = ()
) -> tuple[str, ...]:
    """The permissions after a change, in their order of the reference. Raises BadInputError with all problems."""
    problems = [_unknown(each) for each in (*permit, *forbid) if not _is_known(each)]
    problems += [
        Problem(path=each, message=f"{each} is both permitted and forbidden", remedy="name it once")
        for each in permit
        if each in forbid
    ]
    for each in forbid:
        if _is_known(each) and each not in permitted and (wider := _wider(permitted, each)):
            message = f"{each} is permitted by {wider}"
            remedy = f"forbid {wider}, and permit what remains possible"
            problems.append(Problem(path=each, message=message, remedy=remedy))
    if problems:
        raise BadInputError("the permissions cannot be changed", problems=problems)
    after = {*permitted, *permit} - set(forbid)
    flags = [each for each in FLAGS if each in after]
    return (*flags, *sorted(after.difference(flags)))


def _is_known(text: str) -> bool:
    kind, _, pattern = text.partition(":")
    return text in FLAGS or (kind in PATTERNED and bool(pattern.strip()) and len(text) <= 200)


def _wider(permitted: Sequence[str], text: str) -> str:
    """The pattern that permits a name although it is not permitted itself; empty: none."""
    kind, colon, value = text.partition(":")
    patterns = [each for each in permitted if colon and each.startswith(f"{kind}:")]
    return next((each for each in patterns if fnmatchcase(value, each.partition(":")[2])), "")


def _unknown(text: str) -> Problem:
    names = ", ".join(MEANINGS)
    return Problem(path=text, message=f"{text!r} is not a permission", remedy=f"use one of: {names}")
