"""Labels of runs, metrics and machines."""

import re
from collections.abc import Mapping

#: 1 to 63 letters, digits, ``-``, ``_`` and ``.``; the first and the last are letters or digits. This is the grammar of
#: Kubernetes label values, so that a label is valid everywhere.
LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?"

#: Names of labels that Anubis sets. A user label cannot replace them.
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
#: Prefix of names that are reserved for current and future labels of Anubis.
SYSTEM_PREFIX = "anubis"
#: Label of the runs of A/A controls, and its value. Their points form separate series.
CONTROL, IS_CONTROL = "anubis-control", "true"


def is_label(text: str) -> bool:
    """Whether the text is valid as the name or the non-empty value of a label."""
    return re.fullmatch(LABEL, text) is not None


def is_reserved(name: str) -> bool:
    """Whether the name of a label is reserved. ``-``, ``.`` and ``_`` are equivalent: many systems allow only ``_``."""
    plain = re.sub(r"[._]", "-", name.lower())
    return plain in SYSTEM_LABELS or plain == SYSTEM_PREFIX or plain.startswith(f"{SYSTEM_PREFIX}-")


def is_control(labels: Mapping[str, str]) -> bool:
    """Whether a run with these labels belongs to an A/A control: it says nothing about its benchmark."""
    return CONTROL in labels


def slug(text: str) -> str:
    """The text as a label: other characters become ``-``; empty if no character remains."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-._")[:63].rstrip("-._")
