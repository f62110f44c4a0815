"""Forms of pages: they act only if a page of this service sent them."""

from fastapi import Request

from anubis.model.errors import ForbiddenError


def check_own(request: Request) -> None:
    """Raise ForbiddenError unless a browser says that a page of this service sends the form.

    Every browser sends ``Origin`` with a form, and its value was compared with the host already. ``Sec-Fetch-Site`` cannot be
    set by a page. A program that sends neither uses the interface, which needs no pages.
    """
    site, origin = request.headers.get("Sec-Fetch-Site"), request.headers.get("Origin")
    if site == "same-origin" or (site is None and origin not in {None, "null"}):
        return
    raise ForbiddenError(
        "the form was not sent by a page of this service",
        remedy="open the page and send its form again; programs use /api/v1",
    )
