"""The pages of a sign-in: without scripts, and with one stylesheet of the service."""

from html import escape
from typing import Any
from urllib.parse import urlencode

from fastapi import Response

from anubis.web.access.cookies import FORM_FIELD

STYLE_PATH = "/sign-in/style.css"
STYLE = """\
:root { color-scheme: light dark; }
body { margin: 4rem auto; max-width: 26rem; padding: 0 1rem; font: 1rem/1.5 system-ui, sans-serif; }
h1 { font-size: 1.4rem; }
form { margin: 1.5rem 0; }
label { display: block; margin-bottom: .3rem; }
input { box-sizing: border-box; width: 100%; padding: .5rem; font: inherit; }
button, .button { display: inline-block; margin-top: .8rem; padding: .5rem 1rem; border: 1px solid; border-radius: .3rem;
  background: transparent; color: inherit; font: inherit; text-decoration: none; cursor: pointer; }
code { overflow-wrap: anywhere; }
"""


def page(title: str, body: str, status: int = 200, *, forms_to: str = "") -> Response:
    """A page. ``body`` is HTML. ``forms_to``: another address to which forms may lead."""
    text = (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)} - Anubis</title>\n"
        f'<link rel="stylesheet" href="{STYLE_PATH}">\n</head>\n<body>\n<main>\n<h1>{escape(title)}</h1>\n'
        f"{body}\n</main>\n</body>\n</html>\n"
    )
    return Response(text, status, media_type="text/html", headers=headers(forms_to))


def headers(forms_to: str = "") -> dict[str, str]:
    """What every page says to the browser."""
    targets = f"'self' {forms_to}".strip()
    return {
        "Cache-Control": "no-store",
        "Content-Security-Policy": "default-src 'none'; style-src 'self'; base-uri 'none'; "
        f"frame-ancestors 'none'; form-action {targets}",
        "Referrer-Policy": "same-origin",
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
    }


def field(name: str, value: str) -> str:
    """A field of a form that is not shown."""
    return f'<input type="hidden" name="{escape(name)}" value="{escape(value)}">'


def sign_in(next_path: str, *, has_provider: bool, refusal: str = "", status: int = 200) -> Response:
    """The page with the ways to sign in."""
    parts = [f'<p role="alert">{escape(refusal)}</p>'] if refusal else []
    if has_provider:
        address = f"/sign-in/provider?{urlencode({'next': next_path})}"
        parts.append(f'<p><a class="button" href="{escape(address)}">Sign in with your company</a></p>')
    parts.append(
        '<form method="post" action="/sign-in">\n'
        f"{field('next', next_path)}\n"
        '<label for="token">Token</label>\n'
        '<input id="token" name="token" type="password" autocomplete="off" required>\n'
        "<button>Sign in with a token</button>\n</form>"
    )
    return page("Sign in", "\n".join(parts), status)


def signed_in(name: str, form_token: str) -> Response:
    """Who has signed in, and the form to sign out."""
    body = (
        f"<p>You are signed in as <strong>{escape(name)}</strong>.</p>\n"
        '<form method="post" action="/sign-out">\n'
        f"{field(FORM_FIELD, form_token)}\n<button>Sign out</button>\n</form>"
    )
    return page("Signed in", body)


def message(title: str, text: str, status: int = 200, *, remedy: str = "", again: str = "") -> Response:
    """A page with a text. ``again``: where a link to try again leads."""
    parts = [f"<p>{escape(each)}</p>" for each in (text, remedy) if each]
    if again:
        parts.append(f'<p><a class="button" href="{escape(again)}">Sign in</a></p>')
    return page(title, "\n".join(parts), status)


def command_line(name: str, form_token: str, fields: dict[str, str], forms_to: str) -> Response:
    """Ask whether a command line may act as the person."""
    hidden = "\n".join(field(key, value) for key, value in fields.items())
    body = (
        f"<p>Allow the command line on your machine to act as <strong>{escape(name)}</strong>?</p>\n"
        "<p>Allow it only if you started <code>anubis login</code> just now.</p>\n"
        '<form method="post" action="/sign-in/command-line">\n'
        f"{field(FORM_FIELD, form_token)}\n{hidden}\n<button>Allow</button>\n</form>"
    )
    return page("Log in to the command line", body, forms_to=forms_to)


def code(text: str) -> Response:
    """The code that a person copies to a command line of another machine."""
    return page("Code for the command line", f"<p>Copy this code:</p>\n<p><code>{escape(text)}</code></p>")


def of_error(status: int, details: dict[str, Any]) -> Response:
    """An error as a page that says nothing about what was asked for."""
    titles = {401: "Sign in", 403: "Not allowed", 404: "Not found", 429: "Too many requests"}
    texts = {
        403: "You have no right to see this page, or there is no such page.",
        404: "There is no such page, or you have no right to see it.",
    }
    text = texts.get(status) or str(details.get("title", ""))
    return message(titles.get(status, "Error"), text, status)
