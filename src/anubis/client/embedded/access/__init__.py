"""Users, projects and tokens of this installation. Its operator has all rights."""

from collections.abc import Sequence

from anubis.client.protocol import access as protocol
from anubis.contracts.service.projects import ProjectSecret
from anubis.model.access.roles import (
    EVERY_PROJECT,
    Decision,
    Membership,
    Principal,
    Project,
    Quota,
    Role,
    Token,
    User,
)
from anubis.model.access.sign_ins import SignIn
from anubis.model.errors import BadInputError, NotFoundError
from anubis.submission.environment.project_secrets import ProjectSecrets
from anubis.submission.person import person
from anubis.wiring import Installation

#: Longest time for which a token is valid, seconds.
LONGEST_S = 366 * 86_400.0


class Access(protocol.Access):
    """``Access`` (see the protocol) in the database of this installation."""

    def __init__(self, installation: Installation) -> None:
        self._installation = installation
        self._stored = installation.store.identities
        self._rules = installation.store.projects
        self._secrets = ProjectSecrets(self._rules, installation.settings.secrets_key)

    def whoami(self) -> Principal:
        return Principal(name=person(self._installation.settings), roles={EVERY_PROJECT: Role.ADMIN})

    def users(self) -> Sequence[User]:
        return self._stored.users()

    def user(self, name: str) -> User:
        return self._stored.user(name)

    def create_user(self, name: str) -> User:
        return self._stored.create_user(name, by=self._by())

    def put_disabled(self, name: str, *, disabled: bool) -> User:
        return self._stored.put_disabled(name, disabled=disabled, by=self._by())

    def put_in_group(self, name: str, group: str, *, inside: bool) -> User:
        return self._stored.put_in_group(name, group, inside=inside, by=self._by())

    def projects(self) -> Sequence[Project]:
        return self._stored.projects()

    def create_project(self, name: str) -> Project:
        return self._stored.create_project(name, by=self._by())

    def put_share(self, project: str, *, weight: float) -> Project:
        return self._stored.put_share(project, weight=weight, by=self._by())

    def project(self, name: str) -> Project:
        return self._rules.permission(name).project

    def change_permits(
        self, project: str, *, permit: Sequence[str] = (), forbid: Sequence[str] = ()
    ) -> Project:
        return self._rules.change_permits(project, permit=permit, forbid=forbid, by=self._by())

    def put_quota(self, project: str, quota: Quota) -> Project:
        return self._rules.put_quota(project, quota, by=self._by())

    def members(self, project: str) -> Sequence[Membership]:
        if project != EVERY_PROJECT and project not in {each.name for each in self._stored.projects()}:
            raise NotFoundError(f"there is no project {project!r}", remedy="anubis project list shows them")
        return [each for each in self._stored.memberships() if each.project == project]

    def grant(self, project: str, member: str, role: Role) -> None:
        self._stored.grant(Membership(project=project, member=member, role=role), by=self._by())

    def end_membership(self, project: str, member: str) -> None:
        self._stored.end_membership(project, member, by=self._by())

    def secrets(self, project: str) -> Sequence[ProjectSecret]:
        return self._secrets.find(project)

    def put_secret(self, project: str, name: str, value: str) -> None:
        self._secrets.put(project, name, value, by=self._by())

    def remove_secret(self, project: str, name: str) -> None:
        self._secrets.remove(project, name, by=self._by())

    def tokens(self) -> Sequence[Token]:
        return self._stored.tokens()

    def token(self, prefix: str) -> Token:
        return self._stored.token(prefix)

    def create_token(
        self, user: str, *, project: str, role: Role, about: str = "", lasts_s: float
    ) -> protocol.NewToken:
        by = self._by()
        if not 0 < lasts_s <= LONGEST_S:
            raise BadInputError("a token is valid for at most 366 days", remedy="choose a shorter time")
        text, token = self._stored.create_token(
            user, project=project, role=role, about=about, expires_s=by.time_s + lasts_s, by=by
        )
        return protocol.NewToken(token=token, text=text)

    def revoke_token(self, prefix: str) -> Token:
        return self._stored.revoke_token(prefix, by=self._by())

    def sign_ins(self) -> Sequence[SignIn]:
        return self._stored.sign_ins.all()

    def revoke_sign_in(self, sign_in: str) -> SignIn:
        return self._stored.sign_ins.revoke(sign_in, by=self._by())

    def decisions(
        self, *, actor: str = "", refused: bool = False, since_s: float = 0.0, limit: int = 100
    ) -> Sequence[Decision]:
        return self._stored.decisions.find(actor=actor, refused=refused, since_s=since_s, limit=limit)

    def _by(self) -> Decision:
        now_s = self._installation.clock.now_s()
        actor = person(self._installation.settings)
        return Decision(time_s=now_s, last_s=now_s, actor=actor, action="", allowed=True)
