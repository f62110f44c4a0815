"""What was seen of a run."""

from dataclasses import dataclass

from anubis.model.run import Run


@dataclass(frozen=True, slots=True)
class Seen:
    """What was seen of a run at one look."""

    #: Counts the looks at which something had changed.
    version: int
    run: Run
    #: Role and rank of the replicas of its current attempt.
    replicas: tuple[tuple[str, int], ...]
