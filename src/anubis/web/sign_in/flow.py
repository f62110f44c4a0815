"""The steps of a sign-in, and of the login of a command line through a browser in which a person has signed in.

What one step must remember for the next one is stored under a secret key, of which only the digest is stored, and is
taken out once. So every replica of a service can do the next step, and no step can be repeated.
"""

import hmac
import re
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from anubis.model.access.roles import EVERY_PROJECT, Decision, Principal, Role
from anubis.model.access.sign_ins import MARK, Identity, SignIn
from anubis.model.access.tokens import parts_of
from anubis.model.errors import AnubisError, BadInputError, ForbiddenError
from anubis.store.access.identities import StoredIdentities
from anubis.web.access.login import Login
from anubis.web.access.trail import Trail
from anubis.web.sign_in.provider import Provider, challenge_of
from anubis.web.sign_in.refusal import SignInError
from anubis.web.sign_in.settings import SignInSettings

#: A person has so long to sign in at the provider, and a command line to use a code, seconds.
STEP_S, CODE_S = 600.0, 120.0
#: Where people go without a page to return to.
START = "/ui"
_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")
_LONGEST_NEXT = 2000
#: Characters that names of users cannot have.
_OTHER = re.compile(r"[^A-Za-z0-9._-]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """The browser that sends a request."""

    address: str
    #: As it names itself.
    about: str
    #: Secret of a cookie, so that only the browser that began a sign-in can end it.
    browser: str = ""


def local_path(text: str) -> str:
    """The address of a page of this service; the first page if the text is anything else."""
    is_clean = text.isascii() and text.isprintable() and "\\" not in text and len(text) <= _LONGEST_NEXT
    if not is_clean or not text.startswith("/") or text.startswith("//"):
        return START
    parts = urlsplit(text)
    if parts.scheme or parts.netloc or parts.path in {"/sign-in", "/sign-in/return", "/sign-in/provider"}:
        return START
    return text


class SignIns:
    """Signs people in. May be used by several threads."""

    def __init__(
        self,
        identities: StoredIdentities,
        login: Login,
        trail: Trail,
        settings: SignInSettings,
        provider: Provider | None,
    ) -> None:
        self.settings = settings
        self.provider = provider
        self._identities = identities
        self._stored = identities.sign_ins
        self._login = login
        self._trail = trail

    def is_needed(self) -> bool:
        """Whether the service asks who people are."""
        return self._login.is_needed()

    def begin(self, asker: Asker, next_path: str, back: str) -> str:
        """The address of the provider to which the browser goes. Raises SignInError."""
        if self.provider is None:
            raise SignInError(404, "This service has no identity provider.", "Sign in with a token.")
        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        found = self.provider.address(state=state, nonce=nonce, verifier=verifier, back=back)
        now_s = time.time()
        body = {
            "kind": "provider",
            "nonce": nonce,
            "verifier": verifier,
            "browser": asker.browser,
            "next": local_path(next_path),
            "back": back,
        }
        self._stored.remember(state, body, expires_s=now_s + STEP_S, now_s=now_s)
        return found

    def finish(self, asker: Asker, answer: Mapping[str, str]) -> tuple[str, SignIn, str]:
        """The cookie, the sign-in, and the page to return to, after the provider has answered. Raises SignInError."""
        step = self._taken(answer.get("state", ""), "provider")
        if not asker.browser or not hmac.compare_digest(asker.browser.encode(), step["browser"].encode()):
            raise self._refused(asker, "another browser began the sign-in")
        try:
            claims = self._claims(answer, step)
            identity = self._identity(claims)
            by = _by(asker, identity.name)
            user = self._stored.enter(identity, may_create=self.settings.create_users, by=by)
        except SignInError as error:
            raise self._noted(asker, error) from error
        except (ForbiddenError, BadInputError) as error:
            refused = SignInError(403, f"You cannot sign in: {error.message}.", "Ask an administrator.")
            raise self._noted(asker, refused, identity.name) from error
        text, made = self._create(asker, user, issuer=identity.issuer)
        return text, made, local_path(step["next"])

    def _claims(self, answer: Mapping[str, str], step: Mapping[str, Any]) -> Mapping[str, Any]:
        if self.provider is None:
            raise SignInError(404, "This service has no identity provider.", "Sign in with a token.")
        self.provider.check_sender(answer.get("iss"))
        if "code" not in answer:
            why = f"the provider answered {answer.get('error', '')[:100]!r}"
            raise SignInError(403, "The identity provider did not sign you in.", "Try again.", why=why)
        return self.provider.claims(
            code=answer["code"], verifier=step["verifier"], nonce=step["nonce"], back=step["back"]
        )

    def _identity(self, claims: Mapping[str, Any]) -> Identity:
        given, name = claims.get(self.settings.groups_claim), claims.get(self.settings.user_claim)
        theirs = {each for each in given if isinstance(each, str)} if isinstance(given, list) else set()
        if self.settings.allowed_groups and not theirs & set(self.settings.allowed_groups):
            raise SignInError(
                403,
                "You are not in a group that may use this service.",
                "Ask an administrator.",
                why=f"{str(name)[:100]!r} is in none of the groups that may sign in",
            )
        if not isinstance(name, str) or not name:
            raise SignInError(
                403,
                "The identity provider did not send your name.",
                "Ask an administrator.",
                why=f"the ID token has no claim {self.settings.user_claim!r}",
            )
        inside: dict[str, bool] = {}
        for their, ours in self.settings.groups:
            inside[ours] = inside.get(ours, False) or their in theirs
        return Identity(
            issuer=str(claims["iss"]),
            subject=str(claims["sub"]),
            name=_OTHER.sub("-", name),
            groups=inside,
        )

    def with_token(self, asker: Asker, token: str) -> tuple[str, SignIn]:
        """The cookie and the sign-in of the owner of a token, with its rights. Raises AnubisError."""
        try:
            principal = self._login.principal(f"Bearer {token}", asker.address)
        except AnubisError as error:
            self._note(asker, error.message)
            raise
        prefix, _ = parts_of(token) or ("", "")
        return self._create(asker, principal.name, token=prefix)

    def _create(self, asker: Asker, user: str, *, token: str = "", issuer: str = "") -> tuple[str, SignIn]:
        by = _by(asker, user)
        return self._stored.create(
            user,
            token=token,
            issuer=issuer,
            about=asker.about,
            expires_s=by.time_s + self.settings.sign_in_s,
            by=by,
        )

    def end(self, asker: Asker, principal: Principal) -> None:
        """End the sign-in of a principal."""
        if principal.token.startswith(MARK):
            self._stored.revoke(principal.token.removeprefix(MARK), by=_by(asker, principal.name))

    def allow_command_line(self, principal: Principal, challenge: str) -> str:
        """A code for a command line that knows the verifier of a challenge. Raises SignInError."""
        if not _CHALLENGE.fullmatch(challenge):
            raise SignInError(400, "The address is not complete.", "Run anubis login again.")
        code, now_s = secrets.token_urlsafe(32), time.time()
        body = {"kind": "code", "challenge": challenge, "sign_in": principal.token.removeprefix(MARK)}
        self._stored.remember(code, body, expires_s=now_s + CODE_S, now_s=now_s)
        return code

    def token_of(self, asker: Asker, code: str, verifier: str) -> str:
        """The text of a new token of the person who allowed a command line. Raises SignInError."""
        step = self._taken(code, "code")
        if not hmac.compare_digest(challenge_of(verifier), step["challenge"]):
            raise self._refused(asker, "the verifier is not that of the code")
        known, now_s = self._stored.known(step["sign_in"]), time.time()
        if known is None or known.sign_in.refusal(now_s) or not known.is_active:
            raise self._refused(asker, "the sign-in has ended")
        project, role, expires_s = EVERY_PROJECT, Role.ADMIN, now_s + self.settings.login_token_s
        if known.sign_in.token:
            token = self._identities.token(known.sign_in.token)
            if token.refusal(now_s):
                raise self._refused(asker, "the token of the sign-in is not valid any more")
            project, role, expires_s = token.project, token.role, min(expires_s, token.expires_s)
        text, _ = self._identities.create_token(
            known.sign_in.user,
            project=project,
            role=role,
            about="anubis login",
            expires_s=expires_s,
            by=_by(asker, known.sign_in.user),
        )
        return text

    def end_token(self, asker: Asker, authorization: str) -> str:
        """Revoke the token of a header ``Authorization``; its prefix. Raises AnubisError."""
        principal = self._login.principal(authorization, asker.address)
        if principal.token:
            self._identities.revoke_token(principal.token, by=_by(asker, principal.name))
        return principal.token

    def _taken(self, key: str, kind: str) -> dict[str, Any]:
        found = self._stored.take(key, time.time()) if key else None
        if found is None or found["kind"] != kind:
            raise SignInError(
                400, "This sign-in is over: it took too long, or its address was used before.", "Try again."
            )
        return found

    def _refused(self, asker: Asker, why: str) -> SignInError:
        refused = SignInError(403, "This sign-in cannot be completed.", "Try again.", why=why)
        return self._noted(asker, refused)

    def _noted(self, asker: Asker, error: SignInError, name: str = "") -> SignInError:
        self._note(asker, error.why, name)
        return error

    def _note(self, asker: Asker, why: str, name: str = "") -> None:
        now_s = time.time()
        decision = Decision(
            time_s=now_s,
            last_s=now_s,
            actor=name,
            address=asker.address,
            action="sign in",
            allowed=False,
            reason=why,
        )
        self._trail.note(decision, is_read=False)


def _by(asker: Asker, name: str) -> Decision:
    now_s = time.time()
    return Decision(time_s=now_s, last_s=now_s, actor=name, address=asker.address, action="", allowed=True)
