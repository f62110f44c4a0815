"""From data to HTML: the templates, and the headers of every page."""

from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from fastapi import Response

from anubis.web.pages import assets
from anubis.web.pages.parts import formats

_FOLDER = Path(__file__).parent / "templates"
#: A page loads only what the service itself sends; no script and no style is part of a page.
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self';"
    " form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Opener-Policy": "same-origin",
}


@cache
def _environment() -> jinja2.Environment:
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(formats.FILTERS)
    made.globals.update(formats.GLOBALS, asset=assets.address)
    return made


def html(template: str, context: dict[str, Any], status: int = 200) -> Response:
    """The page that a template makes. Text from outside is escaped."""
    text = _environment().get_template(template).render(context)
    return Response(text, status, HEADERS, "text/html; charset=utf-8")
