"""The text of API tokens: a prefix that is looked up, and a secret of which only the SHA-256 is stored.

The secret has 256 random bits, so a slow hash would protect nothing: it cannot be guessed from its digest.
"""

import hashlib
import hmac
import re
import secrets

#: Begins every token, so that scanners of repositories find lost ones.
MARK = "anubis"
_FORM = re.compile(rf"{MARK}_([0-9a-f]{{12}})_([A-Za-z0-9_-]{{43}})")
#: Compared with the secret of an unknown token, so that it takes as long to refuse.
_NO_DIGEST = bytes(32)


def new_token() -> tuple[str, str, bytes]:
    """A new token: its text, its prefix, and the digest of its secret."""
    prefix, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    return f"{MARK}_{prefix}_{secret}", prefix, _digest(secret)


def parts_of(text: str) -> tuple[str, str] | None:
    """Prefix and secret of a token; None if the text is not a token."""
    found = _FORM.fullmatch(text)
    return (found[1], found[2]) if found else None


def is_secret(secret: str, digest: bytes | None) -> bool:
    """Whether a secret has this digest (None: no token has its prefix); takes the same time for every answer."""
    return hmac.compare_digest(_digest(secret), digest or _NO_DIGEST)


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()
