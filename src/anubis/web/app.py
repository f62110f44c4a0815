"""The web application: routes, errors and the endpoints of operators."""

import os
import threading
from collections.abc import Callable
from functools import cache

from fastapi import Depends, FastAPI, Response
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.routing import Route

from anubis import __version__
from anubis.model.errors import AnubisError
from anubis.store.bucket.watching import Watch
from anubis.web import answers, assistants, joined, measuring, openapi, routes
from anubis.web.access.decision import decided
from anubis.web.access.peers import Peers
from anubis.web.access.policy import PREFIX
from anubis.web.answers import Answer
from anubis.web.guard import Guard
from anubis.web.hooks import routes as hooks
from anubis.web.legacy import routes as legacy
from anubis.web.live.watching import Watches
from anubis.web.pages import routes as pages
from anubis.web.service import Service
from anubis.web.sign_in.flow import SignIns
from anubis.web.sign_in.provider import Provider
from anubis.web.sign_in.routes import Pages
from anubis.web.sign_in.settings import SignInSettings

_ABOUT = """The interface of the command line and of `anubis.Client`: the same verbs with the same words.

Times are UTC seconds since 1970. Errors are problem details (RFC 9457) with a remedy. A run reference is a full id, a
unique prefix, `@last` or `@last~2`."""


def description() -> FastAPI:
    """The application with the routes of every noun, of which OpenAPI is made."""
    app = FastAPI(
        title="Anubis",
        version="1",
        description=_ABOUT,
        openapi_url=f"{PREFIX}/openapi.json",
        docs_url=None,  # its page loads scripts from another site
        redoc_url=None,
        default_response_class=Answer,
        redirect_slashes=False,
    )
    routes.include(app)
    document = cache(lambda: openapi.openapi_of(app))
    app.openapi = document  # type: ignore[method-assign]  # as FastAPI documents it
    return app


def application(service: Service) -> FastAPI:
    """The application of a running service."""
    app, registry = description(), measuring.registry_of(service)
    app.state.service = service
    app.state.access = service.access
    app.state.watches = Watches(service.changes)
    for kind in answers.ERRORS:
        app.add_exception_handler(kind, answers.of_error)
    app.router.routes[:0] = joined.routes()  # the most frequent requests of a service with joined workers
    _add_operations(app, service, lambda: measuring.text_of(registry))
    app.include_router(legacy.router, dependencies=[Depends(decided)])
    pages.include(app)
    app.router.routes.append(hooks.ROUTE)
    app.include_router(assistants.router, dependencies=[Depends(decided)])
    app.router.routes.extend(_sign_in_routes(service))
    peers = Peers(service.installation.settings.home_group)
    app.add_middleware(Guard, peers=peers, login=service.access.login)
    app.add_middleware(measuring.Measuring, registry=registry)
    return app


def _sign_in_routes(service: Service) -> list[Route]:
    """The pages on which people sign in. Raises BadInputError for settings that are not valid."""
    settings = SignInSettings.from_env(os.environ)
    provider = Provider(settings) if settings.issuer else None
    access, identities = service.access, service.installation.store.identities
    return Pages(SignIns(identities, access.login, access.trail, settings, provider)).routes()


def _add_operations(app: FastAPI, service: Service, metrics: Callable[[], bytes]) -> None:
    """``/healthz``, ``/readyz`` and ``/metrics``, which are not part of the versioned interface."""
    bucket = service.installation.bucket
    watch = Watch(bucket, _in_background) if bucket is not None else None

    @app.get("/healthz", include_in_schema=False)
    async def health() -> Response:
        return Answer({"status": "ok", "version": __version__})

    @app.get("/readyz", include_in_schema=False)
    def ready() -> Response:
        try:
            unfinished = service.installation.world.runs.unfinished()
        except AnubisError as error:
            if service.access.login.is_needed():
                return Answer({"status": "not ready"}, 503)
            return Answer({"status": "not ready", "reason": str(error)}, 503)
        if not service.drivers.complete:
            return Answer({"status": "not ready", "reason": "a reconciler has ended"}, 503)
        shown = {"status": "ready", **_bucket(watch, is_private=not service.access.login.is_needed())}
        if service.access.login.is_needed():  # no figures for those without a token
            return Answer(shown)
        return Answer({**shown, "unfinished": unfinished, "reconcilers": service.drivers.alive})

    @app.get("/metrics", include_in_schema=False, dependencies=[Depends(decided)])
    def show_metrics() -> Response:
        return Response(metrics(), media_type=CONTENT_TYPE_LATEST)


def _bucket(watch: Watch | None, *, is_private: bool) -> dict[str, str]:
    """The state of the bucket. The service is ready without it, and copies records later."""
    if watch is None:
        return {}
    problem = watch.problem()
    return {"bucket": (f"degraded: {problem}" if is_private else "degraded") if problem else "ok"}


def _in_background(look: Callable[[], None]) -> None:
    threading.Thread(target=look, name="bucket", daemon=True).start()


def openapi_text() -> str:
    """The OpenAPI document, as it is stored in the reference."""
    return openapi.text_of(description().openapi())


def routes_table() -> str:
    """The routes as a Markdown table."""
    return openapi.table_of(description().openapi())
