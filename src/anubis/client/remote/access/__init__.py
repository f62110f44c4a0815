"""Users, projects and tokens of a service."""

from collections.abc import Sequence
from urllib.parse import quote

from anubis.api.access import to_json
from anubis.client.protocol import access as protocol
from anubis.client.remote.connection import ServiceConnection
from anubis.contracts.service.projects import ProjectSecret
from anubis.model.access.roles import (
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
from anubis.model.plain import from_plain


class Access(protocol.Access):
    """``Access`` (see the protocol) over HTTP."""

    def __init__(self, connection: ServiceConnection) -> None:
        self._connection = connection

    def whoami(self) -> Principal:
        found = self._connection.get("whoami")
        roles = {name: Role(role) for name, role in found["roles"].items()}
        return Principal(name=found["name"], token=found["token"], roles=roles)

    def users(self) -> Sequence[User]:
        return [from_plain(User, each) for each in self._connection.get("users")["users"]]

    def user(self, name: str) -> User:
        return from_plain(User, self._connection.get(_path("users", name)))

    def create_user(self, name: str) -> User:
        return from_plain(User, self._connection.post("users", {"name": name}))

    def put_disabled(self, name: str, *, disabled: bool) -> User:
        path = f"{_path('users', name)}/disabled"
        return from_plain(User, self._connection.put(path, {"disabled": disabled}))

    def put_in_group(self, name: str, group: str, *, inside: bool) -> User:
        path = f"{_path('users', name)}/{_path('groups', group)}"
        found = self._connection.put(path, {}) if inside else self._connection.delete(path)
        return from_plain(User, found)

    def projects(self) -> Sequence[Project]:
        return [from_plain(Project, each) for each in self._connection.get("projects")["projects"]]

    def create_project(self, name: str) -> Project:
        return from_plain(Project, self._connection.post("projects", {"name": name}))

    def put_share(self, project: str, *, weight: float) -> Project:
        return from_plain(Project, self._connection.put(_path("projects", project), {"weight": weight}))

    def project(self, name: str) -> Project:
        return from_plain(Project, self._connection.get(_path("projects", name)))

    def change_permits(
        self, project: str, *, permit: Sequence[str] = (), forbid: Sequence[str] = ()
    ) -> Project:
        body = {"permit": list(permit), "forbid": list(forbid)}
        return from_plain(Project, self._connection.post(f"{_path('projects', project)}/permits", body))

    def put_quota(self, project: str, quota: Quota) -> Project:
        body = to_json(quota)
        return from_plain(Project, self._connection.put(f"{_path('projects', project)}/quota", body))

    def members(self, project: str) -> Sequence[Membership]:
        found = self._connection.get(f"{_path('projects', project)}/members")
        return [from_plain(Membership, each) for each in found["members"]]

    def grant(self, project: str, member: str, role: Role) -> None:
        self._connection.put(_member(project, member), {"role": role.value})

    def end_membership(self, project: str, member: str) -> None:
        self._connection.delete(_member(project, member))

    def secrets(self, project: str) -> Sequence[ProjectSecret]:
        found = self._connection.get(f"{_path('projects', project)}/secrets")["secrets"]
        return [from_plain(ProjectSecret, each) for each in found]

    def put_secret(self, project: str, name: str, value: str) -> None:
        self._connection.put(f"{_path('projects', project)}/{_path('secrets', name)}", {"value": value})

    def remove_secret(self, project: str, name: str) -> None:
        self._connection.delete(f"{_path('projects', project)}/{_path('secrets', name)}")

    def tokens(self) -> Sequence[Token]:
        return [from_plain(Token, each) for each in self._connection.get("tokens")["tokens"]]

    def token(self, prefix: str) -> Token:
        return from_plain(Token, self._connection.get(_path("tokens", prefix)))

    def create_token(
        self, user: str, *, project: str, role: Role, about: str = "", lasts_s: float
    ) -> protocol.NewToken:
        body = {"user": user, "project": project, "role": role.value, "about": about, "lasts_s": lasts_s}
        found = self._connection.post("tokens", body)
        return protocol.NewToken(token=from_plain(Token, found["token"]), text=found["text"])

    def revoke_token(self, prefix: str) -> Token:
        return from_plain(Token, self._connection.delete(_path("tokens", prefix)))

    def sign_ins(self) -> Sequence[SignIn]:
        return [from_plain(SignIn, each) for each in self._connection.get("sign-ins")["sign_ins"]]

    def revoke_sign_in(self, sign_in: str) -> SignIn:
        return from_plain(SignIn, self._connection.delete(_path("sign-ins", sign_in)))

    def decisions(
        self, *, actor: str = "", refused: bool = False, since_s: float = 0.0, limit: int = 100
    ) -> Sequence[Decision]:
        params = [("actor", actor), ("since_s", str(since_s)), ("limit", str(limit))]
        params.append(("refused", str(refused).lower()))
        return [from_plain(Decision, each) for each in self._connection.get("decisions", params)["decisions"]]


def _path(noun: str, name: str) -> str:
    return f"{noun}/{quote(name, safe='')}"


def _member(project: str, member: str) -> str:
    return f"{_path('projects', project)}/{_path('members', member)}"
