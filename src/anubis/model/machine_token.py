"""Tokens of machines: of a worker that joins a service, and of an attempt of a run that ships its record.

A token has 256 random bits, so a fast digest of it can be stored. It is shown or sent once, and never stored.
"""

import hashlib
import hmac
import secrets

#: What a token is for; the first part of its text.
WORKER, ATTEMPT = "anubis-worker", "anubis-attempt"
_BYTES = 32
#: Longer texts are not tokens.
LONGEST = 200


def new_token(kind: str) -> str:
    """A new token."""
    return f"{kind}-{secrets.token_urlsafe(_BYTES)}"


def digest_of(token: str) -> str:
    """What is stored of a token: SHA-256, hexadecimal."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


def is_token(token: str, digest: str) -> bool:
    """Whether this is the token with that digest. Takes the same time for every wrong token."""
    return bool(digest) and hmac.compare_digest(digest_of(token), digest)


def bearer(header: str) -> str:
    """The token in an ``Authorization`` header; empty: there is none."""
    scheme, _, token = header.partition(" ")
    token = token.strip()
    return token if scheme.lower() == "bearer" and len(token) <= LONGEST else ""
