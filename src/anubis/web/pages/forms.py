"""Forms of pages: they act only if a page of this service sent them."""

import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable

from fastapi import Request

from anubis.model.errors import BadInputError, ForbiddenError

#: Forms whose answer is remembered. A form that is sent again later acts again.
_MOST = 10_000
_answers: OrderedDict[tuple[str, str], str] = OrderedDict()
_locks: dict[tuple[str, str], threading.Lock] = {}
_guard = threading.Lock()


def new_key() -> str:
    """Identifies one form on one page that was shown."""
    return secrets.token_urlsafe(16)


def once(person: str, key: str, act: Callable[[], str]) -> str:
    """What ``act`` answers, which is called once for each key of a person: a form that is sent twice acts once."""
    if not key:
        raise BadInputError("the form has no key", remedy="open the page and send its form again")
    place = (person, key)
    with _guard:
        lock = _locks.setdefault(place, threading.Lock())
    with lock:
        if place not in _answers:
            _answers[place] = act()
            with _guard:
                _locks.pop(place, None)
                while len(_answers) > _MOST:
                    _answers.popitem(last=False)
        return _answers[place]


def check_own(request: Request) -> None:
    """Raise ForbiddenError for a form that a page of another site may have sent.

    The form of a person who has signed in has a token, which was compared already. Without a login, the browser must say
    that the page is one of this service: ``Origin``, which was compared with the host, or ``Sec-Fetch-Site``, which pages
    cannot set. A program that sends a token was not sent by a page.
    """
    if request.headers.get("Authorization") or getattr(request.state, "form_token", ""):
        return
    site, origin = request.headers.get("Sec-Fetch-Site"), request.headers.get("Origin")
    if site == "same-origin" or (site is None and origin not in {None, "null"}):
        return
    raise ForbiddenError(
        "the form was not sent by a page of this service",
        remedy="open the page and send its form again; programs use /api/v1",
    )
