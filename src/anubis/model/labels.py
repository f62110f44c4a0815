"""Labels: the words by which runs, metrics and machines are filed."""

import re

#: 1 to 63 letters, digits, ``-``, ``_`` and ``.``; the first and the last a letter or a digit. The grammar of
#: Kubernetes label values, so that one label means the same everywhere.
LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?"

#: Names the system files its own runs under. A user's label can never replace them.
SYSTEM_LABELS = frozenset(
    {
        "action-id",
        "app",
        "benchmark",
        "client-id",
        "controller-uid",
        "created-by",
        "dashboard-name",
        "family-id",
        "inference-server-name",
        "job-name",
        "metric",
        "mpi-role-type",
        "parent-action-id",
        "rank",
        "region",
        "role",
        "run-id",
        "task-name",
        "unit",
    }
)
#: Prefix of names that are the system's, today or later.
SYSTEM_PREFIX = "anubis"


def is_label(text: str) -> bool:
    """Whether the text can be the name or (not empty) the value of a label."""
    return re.fullmatch(LABEL, text) is not None


def is_reserved(name: str) -> bool:
    """Whether a label's name is the system's. ``-``, ``.`` and ``_`` count as one: many systems know only the last."""
    plain = re.sub(r"[._]", "-", name.lower())
    return plain in SYSTEM_LABELS or plain == SYSTEM_PREFIX or plain.startswith(f"{SYSTEM_PREFIX}-")


def slug(text: str) -> str:
    """The text as a label: what a label cannot hold becomes ``-``; empty when nothing is left."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-._")[:63].rstrip("-._")
