"""Sign-ins with a browser, and the users of identity providers."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from anubis.model.access.roles import Decision, Role, checked_name
from anubis.model.access.sign_ins import MARK, Identity, SignIn, digest_of, new_secret
from anubis.model.errors import ForbiddenError, NotFoundError
from anubis.store.access.decisions import write_decisions
from anubis.store.access.members import described, held_roles
from anubis.store.sql.database import Database, Row, Session
from anubis.store.text import clean

#: A use is written when the last one was so long ago, seconds.
USED_EVERY_S = 60.0
#: Ended sign-ins are listed for so long, seconds.
KEPT_S = 30 * 86_400.0
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class KnownSignIn:
    """A stored sign-in, with what is needed to decide about it."""

    sign_in: SignIn
    #: SHA-256 of the secret.
    digest: bytes
    is_active: bool
    #: Role by project that the user has now.
    roles: Mapping[str, Role]


class StoredSignIns:
    """Sign-ins in a database. Every change adds a row to the decisions in the same transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(
        self, user: str, *, token: str = "", issuer: str = "", about: str, expires_s: float, by: Decision
    ) -> tuple[str, SignIn]:
        """The text of a new cookie, which is not stored, and the sign-in. Raises NotFoundError."""
        text, name, digest = new_secret()

        def create(session: Session) -> None:
            session.write("forget_sign_ins", before_s=by.time_s - KEPT_S)
            rows = session.rows("user", name=user)
            if not rows:
                raise NotFoundError(f"there is no user {user!r}", remedy="anubis user list shows them")
            session.write(
                "add_sign_in",
                id=name,
                digest=digest,
                user=rows[0].no,
                token=token or None,
                issuer=issuer,
                about=clean(about)[:_LONGEST],
                created_s=by.time_s,
                expires_s=expires_s,
            )
            how = f"with the token {token}" if token else f"with {issuer}"
            write_decisions(session, [described(replace(by, token=f"{MARK}{name}"), f"sign in {how}", user)])

        self._database.transact(create)
        return text, self.get(name)

    def all(self) -> list[SignIn]:
        """All sign-ins that are valid or ended lately, oldest first."""
        return [_sign_in(row) for row in self._database.rows("sign_ins")]

    def get(self, name: str) -> SignIn:
        """The sign-in with an id. Raises NotFoundError."""
        rows = self._database.rows("sign_in", id=clean(name))
        if not rows:
            raise _unknown(name)
        return _sign_in(rows[0])

    def known(self, name: str) -> KnownSignIn | None:
        """What is stored about a sign-in; None if there is none with this id."""
        with self._database.session() as session:
            rows = session.rows("sign_in", id=name)
            if not rows:
                return None
            (row,) = rows
            return KnownSignIn(
                _sign_in(row), bytes(row.digest), row.disabled_s is None, held_roles(session, row)
            )

    def note_use(self, sign_in: SignIn, now_s: float) -> None:
        """Store that a sign-in was used, to the minute."""
        if sign_in.used_s is None or not 0 <= now_s - sign_in.used_s < USED_EVERY_S:
            self._database.write("use_sign_in", id=sign_in.id, now_s=now_s)

    def revoke(self, name: str, *, by: Decision) -> SignIn:
        """The sign-in, which is not accepted from now on. Raises NotFoundError."""

        def revoke(session: Session) -> None:
            if not session.rows("sign_in", id=clean(name)):
                raise _unknown(name)
            if session.rows("revoke_sign_in", id=name, now_s=by.time_s):
                write_decisions(session, [described(by, "end sign-in", name)])

        self._database.transact(revoke)
        return self.get(name)

    def enter(self, identity: Identity, *, may_create: bool, by: Decision) -> str:
        """The name of the user of a person, whose groups are put as the provider says.

        At the first sign-in, the person gets the user with the name that the provider gives, unless another person of the
        provider has it. Raises ForbiddenError, and BadInputError for a name that users cannot have.
        """

        def enter(session: Session) -> str:
            changes: list[Decision] = []
            rows = session.rows("subject", issuer=identity.issuer, subject=clean(identity.subject))
            if not rows:
                rows = [_first(session, identity, may_create=may_create, by=by, changes=changes)]
            user = rows[0]
            if user.disabled_s is not None:
                raise ForbiddenError(f"the user {user.name!r} is disabled", remedy="ask an administrator")
            for group, inside in identity.groups.items():
                values = {"group": group, "user": user.no}
                if session.rows("join_group" if inside else "leave_group", **values):
                    what = f"{'join' if inside else 'leave'} group {group}"
                    changes.append(described(by, what, user.name))
            if changes:
                write_decisions(session, [replace(change, actor=user.name) for change in changes])
            return str(user.name)

        return self._database.transact(enter)

    def remember(self, key: str, body: Mapping[str, Any], *, expires_s: float, now_s: float) -> None:
        """Store what a later request with a secret key needs."""
        values = {"digest": digest_of(key), "body": json.dumps(body), "expires_s": expires_s}

        def put(session: Session) -> None:
            session.write("forget_steps", now_s=now_s)
            session.write("add_step", **values)

        self._database.transact(put)

    def take(self, key: str, now_s: float) -> dict[str, Any] | None:
        """What was stored for a key, once; None: nothing, or it has expired."""
        rows = self._database.transact(lambda session: session.rows("take_step", digest=digest_of(key)))
        if not rows or now_s >= rows[0].expires_s:
            return None
        found: dict[str, Any] = json.loads(rows[0].body)
        return found


def _first(
    session: Session, identity: Identity, *, may_create: bool, by: Decision, changes: list[Decision]
) -> Row:
    """The user of a person who signs in for the first time."""
    name = checked_name("user", identity.name)
    rows = session.rows("user", name=name)
    if not rows:
        if not may_create:
            raise ForbiddenError(
                f"there is no user {name!r}", remedy="an administrator can create it: anubis user create NAME"
            )
        if session.rows("add_user", name=name, created_s=by.time_s):
            changes.append(described(by, "create user", name))
        rows = session.rows("user", name=name)
    values = {"issuer": identity.issuer, "subject": clean(identity.subject), "user": rows[0].no}
    key = {"issuer": identity.issuer, "subject": values["subject"]}
    if not session.rows("add_subject", **values) and not session.rows("subject", **key):
        raise ForbiddenError(
            f"the user {name!r} belongs to another account of the identity provider",
            remedy="ask an administrator for another user",
        )
    changes.append(described(by, f"link to {identity.issuer}", name))
    return rows[0]


def _unknown(name: str) -> NotFoundError:
    return NotFoundError(f"there is no sign-in {name!r}", remedy="anubis sign-in list shows them")


def _sign_in(row: Row) -> SignIn:
    return SignIn(
        id=row.id,
        user=row.user_name,
        token=row.token or "",
        issuer=row.issuer,
        about=row.about,
        created_s=row.created_s,
        expires_s=row.expires_s,
        revoked_s=row.revoked_s,
        used_s=row.used_s,
    )
