"""The routes below ``/ui``, one module of views for each page. A new page needs one line in ``VIEWS``."""

from importlib import import_module

from fastapi import Depends, FastAPI

from anubis.web.access.decision import decided
from anubis.web.pages import assets, visit

#: Modules of ``views`` with a ``router``.
VIEWS = (
    "overview",
    "runs",
    "run",
    "output",
    "changes",
    "benchmarks",
    "benchmark",
    "compare",
    "alerts",
    "families",
    "schedules",
    "installation",
    "search",
    "submit",
)


def include(app: FastAPI) -> None:
    """Add the pages and what they load."""
    app.include_router(assets.router)
    for name in VIEWS:
        router = import_module(f"anubis.web.pages.views.{name}").router
        app.include_router(router, dependencies=[Depends(decided)])
    app.add_api_route("/ui/{rest:path}", visit.not_found, include_in_schema=False)
