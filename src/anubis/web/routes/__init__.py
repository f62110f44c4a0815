"""The HTTP interface, one module for each noun. A new noun needs one line in ``NOUNS``."""

from importlib import import_module

from fastapi import Depends, FastAPI

from anubis.web.access.decision import decided
from anubis.web.access.policy import PREFIX

#: Modules of this folder with a ``router``, in the order of the reference.
NOUNS = (
    "runs",
    "results",
    "records",
    "logs",
    "events",
    "gate",
    "alerts",
    "series",
    "reports",
    "sweeps",
    "schedules",
    "triggers",
    "datasets",
    "storage",
    "access",
    "webhooks",
    "workers",
    "tools.alternations",
    "tools.bisections",
    "tools.histories",
)


def include(app: FastAPI) -> None:
    """Add the routes of every noun."""
    for noun in NOUNS:
        router = import_module(f"{__name__}.{noun}").router
        app.include_router(router, prefix=PREFIX, dependencies=[Depends(decided)])
