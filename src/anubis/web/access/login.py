"""Who asks: tokens and sign-ins of requests, and the limits of their rates."""

import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable

from anubis.model.access import sign_ins
from anubis.model.access.roles import UNRESTRICTED, Principal, roles_of
from anubis.model.access.tokens import is_secret, parts_of
from anubis.model.errors import TooManyRequestsError, UnauthorizedError
from anubis.store.access.identities import StoredIdentities
from anubis.web.access import limits
from anubis.web.access.limits import Rates

#: For so long it is not looked up again that there are no users, seconds.
_LOOK_EVERY_S = 1.0
#: Most addresses with tokens that are remembered as good.
_MOST_GOOD = 10_000
_SIGN_IN = "sign in again"
_REMEDY = "register the service with a token: anubis register URL --token-file FILE"


class Login:
    """Verifies tokens. May be used by several threads."""

    def __init__(self, identities: StoredIdentities, *, is_required: bool) -> None:
        """``is_required``: also if there are no users, because other machines reach the service."""
        self._identities = identities
        self._is_required = is_required
        self._looked_s = float("-inf")
        self._tokens = Rates(limits.TOKEN_BURST, limits.TOKEN_PER_S, time.monotonic)
        self._failures = Rates(limits.FAILED_BURST, limits.FAILED_PER_S, time.monotonic)
        #: Address and digest of tokens that were accepted from it: failures of others there do not lock them out.
        self._good: OrderedDict[tuple[str, bytes], None] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def is_fresh(self) -> bool:
        """Whether ``is_needed`` answers without the database."""
        return self._is_required or time.monotonic() - self._looked_s < _LOOK_EVERY_S

    @property
    def was_needed(self) -> bool:
        """What ``is_needed`` answered last; it never waits for the database."""
        return self._is_required

    def is_needed(self) -> bool:
        """Whether requests need a token: other machines reach the service, or there are users."""
        if not self.is_fresh:
            self._is_required = self._identities.any_users()
            self._looked_s = time.monotonic()
        return self._is_required

    def principal(self, authorization: str, address: str) -> Principal:
        """Who sends a header ``Authorization`` from an address.

        Raises UnauthorizedError without a valid token, and TooManyRequestsError.
        """
        if not self.is_needed():
            return UNRESTRICTED
        scheme, _, text = authorization.partition(" ")
        if scheme.lower() != "bearer" or not text:
            raise UnauthorizedError("the service needs a token", remedy=_REMEDY)
        return self._limited(text.strip(), address, self._verified)

    def signed_in(self, cookie: str, address: str) -> Principal:
        """Who sends the cookie of a sign-in from an address.

        Raises UnauthorizedError if it is not valid any more, and TooManyRequestsError.
        """
        if not self.is_needed():
            return UNRESTRICTED
        return self._limited(cookie, address, self._of_sign_in)

    def _limited(self, text: str, address: str, verified: Callable[[str], Principal]) -> Principal:
        mark = (address, hashlib.sha256(text.encode()).digest())
        if mark not in self._good and (wait_s := self._failures.wait_s(address)):
            raise _too_many(f"too many tokens from {address} were refused", wait_s)
        try:
            principal = verified(text)
        except UnauthorizedError:
            self._failures.take(address)
            raise
        self._remember(mark)
        if wait_s := self._tokens.take(principal.token):
            raise _too_many(f"the token {principal.token} sent too many requests", wait_s)
        return principal

    def _verified(self, text: str) -> Principal:
        prefix, secret = parts_of(text) or ("", text)
        known = self._identities.known(prefix) if prefix else None
        is_right = is_secret(secret, known.digest if known else None)
        if known is None or not is_right:
            raise UnauthorizedError("the token is not valid", remedy=_REMEDY)
        now_s = time.time()
        if why := known.token.refusal(now_s) or ("" if known.is_active else "of a disabled user"):
            raise UnauthorizedError(
                f"the token {prefix} is {why}",
                remedy="ask an administrator for a new token, then register again",
            )
        self._identities.note_use(known.token, now_s)
        return Principal(name=known.token.user, token=prefix, roles=roles_of(known.token, known.roles))

    def _of_sign_in(self, cookie: str) -> Principal:
        name, secret = sign_ins.parts_of(cookie) or ("", cookie)
        known = self._identities.sign_ins.known(name) if name else None
        is_right = is_secret(secret, known.digest if known else None)
        if known is None or not is_right:
            raise UnauthorizedError("the sign-in is not valid", remedy=_SIGN_IN)
        now_s, found = time.time(), known.sign_in
        if why := found.refusal(now_s) or ("" if known.is_active else "of a disabled user"):
            raise UnauthorizedError(f"the sign-in is {why}", remedy=_SIGN_IN)
        roles = known.roles
        if found.token:
            token = self._identities.token(found.token)
            if why := token.refusal(now_s):
                raise UnauthorizedError(f"the token of the sign-in is {why}", remedy=_SIGN_IN)
            roles = roles_of(token, roles)
        self._identities.sign_ins.note_use(found, now_s)
        return Principal(name=found.user, token=f"{sign_ins.MARK}{name}", roles=roles)

    def _remember(self, mark: tuple[str, bytes]) -> None:
        with self._lock:
            self._good[mark] = None
            self._good.move_to_end(mark)
            while len(self._good) > _MOST_GOOD:
                self._good.popitem(last=False)


def _too_many(message: str, wait_s: float) -> TooManyRequestsError:
    return TooManyRequestsError(message, again_after_s=wait_s, remedy="send fewer requests")
