"""What the record keeps of an environment, and an environment made again from a record."""

from collections.abc import Callable, Collection, Mapping

from anubis.contracts.environments import SubmittedEnvironment
from anubis.record.environment import RecordedEnvironment
from anubis.submission.environment.names import is_decisive, is_secret, is_session

#: The text whose digest names the key.
_KEY_NAME = "key"


def summary(
    variables: Mapping[str, str],
    *,
    secrets: Collection[str],
    described: Collection[str],
    digest: Callable[[str], str],
) -> RecordedEnvironment:
    """What the record keeps of these variables.

    ``secrets`` are variables with secret values. ``described`` are the variables of the descriptor: their values are in
    the descriptor, so only those that decide what is measured are repeated.
    """
    hidden = {name for name in variables if name in secrets or (is_secret(name) and name not in described)}
    values = {name: value for name, value in variables.items() if is_decisive(name) and name not in hidden}
    others = variables.keys() - values.keys() - hidden - set(described)
    digests = {name: digest(variables[name]) for name in others if not is_session(name)}
    return RecordedEnvironment(values, digests, frozenset(hidden), digest(_KEY_NAME))


def restored(
    recorded: RecordedEnvironment, current: SubmittedEnvironment, digest: Callable[[str], str]
) -> tuple[SubmittedEnvironment, list[str]] | None:
    """The recorded environment, completed by the current one, and the names of other variables that differ from it.

    The variables that decide what is measured have their recorded values; the others have those of ``current``. None if
    another installation recorded the environment: its paths are not valid here.
    """
    if recorded.key != digest(_KEY_NAME):
        return None
    kept = {name: value for name, value in current.variables.items() if not is_decisive(name)}
    compared = {name for name in kept if not (is_session(name) or is_secret(name))}
    changed = [
        name
        for name in sorted(compared | recorded.digests.keys())
        if name not in compared or recorded.digests.get(name) != digest(kept[name])
    ]
    decisive = {name: value for name, value in recorded.values.items() if is_decisive(name)}
    return SubmittedEnvironment(variables={**kept, **decisive}, secrets=current.secrets), changed
