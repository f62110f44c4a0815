"""The OpenID provider: its addresses and keys, the exchange of a code, and the check of its answer.

OpenID Connect Core 1.0 section 3.1 (authorization code flow), Discovery 1.0, RFC 7636 (PKCE), RFC 9207 (``iss``).
"""

import base64
import hashlib
import json
import math
import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from anubis.late import late
from anubis.web.sign_in.refusal import SignInError
from anubis.web.sign_in.settings import SignInSettings, is_safe

if TYPE_CHECKING:
    import urllib3
    from joserfc import errors, jwk, jwt
else:  # a service without sign-ins does not need them
    urllib3 = late("urllib3")
    errors = late("joserfc.errors")
    jwk = late("joserfc.jwk")
    jwt = late("joserfc.jwt")

#: Algorithms of signatures with a public key; ``none`` and those with a shared secret are refused.
ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
#: The addresses of the provider are read again after so long, seconds.
DISCOVERY_S = 3600.0
#: A provider that did not answer is not asked again for so long, so that it does not occupy all threads; seconds.
FAILED_S = 3.0
#: Clocks of the provider and of the service may differ by so much, seconds.
LEEWAY_S = 60
_CONNECT_S, _READ_S, _TOTAL_S = 5.0, 10.0, 15.0
_MOST_BYTES = 1 << 20
_LONGEST_SUBJECT = 255
_ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri")
_AGAIN = "try again; if it happens again, ask an administrator"


def challenge_of(verifier: str) -> str:
    """The S256 challenge of a verifier (RFC 7636 section 4.2)."""
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()


class Provider:
    """One OpenID provider. May be used by several threads."""

    def __init__(
        self,
        settings: SignInSettings,
        now_s: Callable[[], float] = time.time,
        monotonic_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings = settings
        self._secret = settings.secret()
        self._now_s = now_s
        self._monotonic_s = monotonic_s
        self._lock = threading.Lock()
        self._metadata: tuple[float, Mapping[str, Any]] | None = None
        self._keys: Any = None
        #: When the provider did not answer, and how.
        self._failed: tuple[float, SignInError] | None = None

    @property
    def issuer(self) -> str:
        return self._settings.issuer

    def address(self, *, state: str, nonce: str, verifier: str, back: str) -> str:
        """Where the browser goes to sign in. Raises SignInError if the provider does not answer."""
        params = {
            "response_type": "code",
            "client_id": self._settings.client_id,
            "redirect_uri": back,
            "scope": " ".join(self._settings.scopes),
            "state": state,
            "nonce": nonce,
            "code_challenge": challenge_of(verifier),
            "code_challenge_method": "S256",
        }
        endpoint = self._discovered()["authorization_endpoint"]
        return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(params)}"

    def check_sender(self, issuer: str | None) -> None:
        """Raise SignInError if another provider sent the answer (RFC 9207)."""
        is_promised = self._discovered().get("authorization_response_iss_parameter_supported") is True
        if issuer != self.issuer and (issuer is not None or is_promised):
            raise _refused(f"the answer is from {issuer!r}")

    def claims(self, *, code: str, verifier: str, nonce: str, back: str) -> Mapping[str, Any]:
        """What the provider states about the person, in exchange for a code. Raises SignInError."""
        found = self._exchanged(code, verifier, back)
        token = found.get("id_token")
        if not isinstance(token, str):
            raise _refused("the answer has no ID token")
        claims = self._verified(token)
        self._check(claims, nonce)
        return claims

    def _exchanged(self, code: str, verifier: str, back: str) -> Mapping[str, Any]:
        metadata, client = self._discovered(), self._settings.client_id
        fields = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": back,
            "code_verifier": verifier,
        }
        headers = {"Accept": "application/json", "Content-Type": "application/x-www-form-urlencoded"}
        known = metadata.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
        if self._secret and "client_secret_basic" in known:
            pair = f"{quote(client, safe='')}:{quote(self._secret, safe='')}"
            headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
        else:
            fields |= {"client_id": client} | ({"client_secret": self._secret} if self._secret else {})
        status, found = self._asked("POST", metadata["token_endpoint"], urlencode(fields), headers)
        if status >= 500:
            raise _away(f"status {status}")
        if status != 200:
            raise _refused(f"the provider refused the code: {str(found.get('error', status))[:100]}")
        return found

    def _verified(self, token: str) -> Mapping[str, Any]:
        """The claims of a token with a valid signature. Keys are read again once: the provider may have new ones."""
        keys = self._known_keys()
        try:
            return self._decoded(token, keys)
        except (errors.JoseError, ValueError):
            pass
        try:
            return self._decoded(token, self._known_keys(after=keys))
        except (errors.JoseError, ValueError) as error:
            raise _refused(f"the signature of the ID token is not valid: {error}") from error

    def _decoded(self, token: str, keys: Any) -> Mapping[str, Any]:
        claims = jwt.decode(token, keys, algorithms=ALGORITHMS).claims
        if not isinstance(claims, dict):
            raise _refused("the ID token is not an object")
        return claims

    def _check(self, claims: Mapping[str, Any], nonce: str) -> None:
        now_s, client = self._now_s(), self._settings.client_id
        audience = claims.get("aud")
        named = [audience] if isinstance(audience, str) else audience
        subject, times = claims.get("sub"), [claims.get("exp"), claims.get("iat"), claims.get("nbf", 0)]
        expires_s, *begun_s = [_number(each) for each in times]
        checks = {
            f"the issuer is {claims.get('iss')!r}": claims.get("iss") == self.issuer,
            "it is for another client": isinstance(named, list) and client in named,
            "another client asked for it": claims.get("azp", client) == client,
            "it names several clients": not isinstance(named, list) or len(named) == 1 or "azp" in claims,
            "it has expired": now_s < expires_s + LEEWAY_S,
            "it is of the future": all(each <= now_s + LEEWAY_S for each in begun_s),
            "the nonce is another one": claims.get("nonce") == nonce,
            "it names no person": isinstance(subject, str) and 0 < len(subject) <= _LONGEST_SUBJECT,
        }
        if wrong := [about for about, holds in checks.items() if not holds]:
            raise _refused(f"the ID token is not valid: {'; '.join(wrong)}")

    def _discovered(self) -> Mapping[str, Any]:
        with self._lock:
            if self._metadata and self._monotonic_s() - self._metadata[0] < DISCOVERY_S:
                return self._metadata[1]
            if self._failed and self._monotonic_s() - self._failed[0] < FAILED_S:
                raise self._failed[1]
            try:
                found = self._read_metadata()
            except SignInError as error:
                self._failed = (self._monotonic_s(), error)
                raise
            self._metadata, self._failed = (self._monotonic_s(), found), None
            return found

    def _read_metadata(self) -> Mapping[str, Any]:
        status, found = self._asked("GET", f"{self.issuer.rstrip('/')}/.well-known/openid-configuration")
        if status != 200:
            raise _away(f"status {status}")
        if found.get("issuer") != self.issuer:
            raise _away(f"it names itself {found.get('issuer')!r}")
        if not all(isinstance(found.get(name), str) and is_safe(found[name]) for name in _ENDPOINTS):
            raise _away("an address is missing, or is not one of https")
        return found

    def _known_keys(self, *, after: Any = None) -> Any:
        """The keys of the provider; with ``after``, others than these."""
        address = self._discovered()["jwks_uri"]
        with self._lock:
            if self._keys is None or self._keys is after:
                status, found = self._asked("GET", address)
                if status != 200:
                    raise _away(f"status {status} for its keys")
                try:
                    usable = [
                        each
                        for each in found["keys"]
                        if each.get("kty") in {"RSA", "EC", "OKP"} and each.get("use", "sig") == "sig"
                    ]
                    self._keys = jwk.KeySet.import_key_set({"keys": usable})
                except (errors.JoseError, ValueError, LookupError, TypeError, AttributeError) as error:
                    raise _away(f"its keys cannot be read: {error}") from error
            return self._keys

    def _asked(
        self, method: str, url: str, body: str | None = None, headers: Mapping[str, str] | None = None
    ) -> tuple[int, Mapping[str, Any]]:
        """Status and JSON object of an answer."""
        timeout = urllib3.Timeout(connect=_CONNECT_S, read=_READ_S, total=_TOTAL_S)
        try:
            with urllib3.PoolManager(timeout=timeout, retries=False) as pool:
                # Redirects are not followed: another server must not get the code and the secret.
                answer = pool.request(
                    method, url, body=body, headers=headers, redirect=False, preload_content=False
                )
                content = answer.read(_MOST_BYTES + 1)
                answer.close()
        except (urllib3.exceptions.HTTPError, OSError, ValueError) as error:
            raise _away(str(error)) from error
        try:
            found = json.loads(content) if len(content) <= _MOST_BYTES else None
        except (ValueError, UnicodeDecodeError):
            found = None
        if not isinstance(found, dict):
            if answer.status >= 400:
                return answer.status, {}
            raise _away("an answer is not a JSON object")
        return answer.status, found


def _number(value: object) -> float:
    """A time; NaN, which no comparison holds for, if it is not a number."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else math.nan


def _refused(why: str) -> SignInError:
    return SignInError(403, "The identity provider did not confirm who you are.", _AGAIN, why=why)


def _away(why: str) -> SignInError:
    return SignInError(
        503,
        "The identity provider does not answer.",
        "Try again in a moment, or sign in with a token.",
        why=f"the identity provider cannot be used: {why}",
    )
