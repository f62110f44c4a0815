"""The HTTP interface, one module for each noun. A new noun needs one line in ``NOUNS``."""

from importlib import import_module

from fastapi import FastAPI

#: Where all routes of this version of the interface begin.
PREFIX = "/api/v1"
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
    "sweeps",
    "schedules",
    "datasets",
    "storage",
    "webhooks",
    "workers",
)


def include(app: FastAPI) -> None:
    """Add the routes of every noun."""
    for noun in NOUNS:
        app.include_router(import_module(f"{__name__}.{noun}").router, prefix=PREFIX)
