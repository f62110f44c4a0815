"""Sign-ins of people with a browser.

A cookie has the id of a sign-in and a secret, of which only the SHA-256 is stored.
"""

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass

_FORM = re.compile(r"([0-9a-f]{12})\.([A-Za-z0-9_-]{43})")
#: Begins the name of a sign-in in decisions about rights, where tokens have their prefix.
MARK = "sign-in:"


@dataclass(frozen=True, slots=True, kw_only=True)
class SignIn:
    """A browser in which a user has signed in."""

    #: Identifies it; not secret.
    id: str
    user: str
    #: Prefix of the token that was used to sign in, whose rights it has; empty: the identity provider was used.
    token: str = ""
    #: Address of the identity provider; empty: a token was used.
    issuer: str = ""
    #: The browser, as it names itself.
    about: str = ""
    #: UTC seconds.
    created_s: float
    expires_s: float
    #: None: not ended by the user or an administrator.
    revoked_s: float | None = None
    #: When it was last used, to the minute; UTC seconds. None: never.
    used_s: float | None = None

    def refusal(self, now_s: float) -> str:
        """Why it is not valid; empty if it is."""
        if self.revoked_s is not None:
            return "ended"
        return "expired" if now_s >= self.expires_s else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Who a person is at an identity provider."""

    issuer: str
    #: Identifies the person at the provider; never given to another person.
    subject: str
    #: Name of the user here at the first sign-in.
    name: str
    #: Groups here that the provider decides about -> whether the person is inside.
    groups: dict[str, bool]


def new_secret() -> tuple[str, str, bytes]:
    """A new sign-in: the text of its cookie, its id, and the digest of its secret."""
    name, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    return f"{name}.{secret}", name, digest_of(secret)


def parts_of(text: str) -> tuple[str, str] | None:
    """Id and secret of a cookie; None if the text cannot be one."""
    found = _FORM.fullmatch(text)
    return (found[1], found[2]) if found else None


def digest_of(secret: str) -> bytes:
    """What is stored instead of a secret with 256 random bits."""
    return hashlib.sha256(secret.encode()).digest()


def form_token(text: str) -> str:
    """What forms of a page send beside the cookie: a page of another site cannot know it."""
    return hmac.new(text.encode(), b"form", "sha256").hexdigest()
