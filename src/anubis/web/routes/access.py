"""Users, projects, tokens and decisions about rights."""

from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import Field

from anubis.api.access import to_json
from anubis.model.access.roles import EVERY_PROJECT, Quota, Role
from anubis.submission.environment.project_secrets import LONGEST
from anubis.web.access.decision import Decided
from anubis.web.answers import Answer, NounRoute
from anubis.web.descriptors import Strict
from anubis.web.service import Asking

#: Largest limit of a number of runs.
MOST = (1 << 31) - 1

router = APIRouter(route_class=NounRoute, tags=["access"])


class NameBody(Strict):
    """A new user or project."""

    name: str = Field(description="1 to 63 letters, digits, -, _ and .")


class ShareBody(Strict):
    """The share of a project."""

    weight: float = Field(1.0, description="In proportion to those of other projects.")


class PermitsBody(Strict):
    """A change of what the runs of a project may use."""

    permit: list[str] = Field([], max_length=100, description="Permissions to add.")
    forbid: list[str] = Field([], max_length=100, description="Permissions to remove.")


class QuotaBody(Strict):
    """All limits of a project; null: no limit."""

    running: int | None = Field(None, ge=1, le=MOST, description="Runs in progress at the same time.")
    waiting: int | None = Field(None, ge=1, le=MOST, description="Runs that wait for their start.")
    per_day: int | None = Field(None, ge=1, le=MOST, description="Runs that are submitted on one day, UTC.")
    record_bytes: int | None = Field(
        None, ge=1, le=1 << 60, description="Bytes of the records of final runs."
    )
    run_s: float | None = Field(
        None, ge=1, le=1e9, allow_inf_nan=False, description="Largest limits.run_timeout_s, seconds."
    )


class DisabledBody(Strict):
    """Whether a user is disabled."""

    disabled: bool


class SecretBody(Strict):
    """The value of a secret."""

    value: str = Field(max_length=LONGEST, description="Never shown again.", repr=False)


class RoleBody(Strict):
    """The role of a member."""

    role: Role = Field(strict=False)


class TokenBody(Strict):
    """A new token. It never gives more rights than its user has."""

    user: str
    project: str = Field(EVERY_PROJECT, description="Name of a project, or *: all projects of the user.")
    role: Role = Field(Role.VIEWER, strict=False, description="Highest role.")
    about: str = Field("", max_length=200)
    lasts_s: float = Field(gt=0, description="For how long it is valid, seconds.")


class EmptyBody(Strict):
    """Nothing."""


@router.get("/whoami", summary="Who asks")
def whoami(allowed: Decided) -> Response:
    """The user of the token and all roles; without a login an empty name."""
    found = allowed.principal
    return Answer(
        {
            "name": found.name,
            "token": found.token,
            "roles": {name: role.value for name, role in found.roles.items()},
        }
    )


@router.get("/users", summary="List users")
def users(client: Asking) -> Response:
    """All users, by name."""
    return Answer({"users": list(map(to_json, client.access.users()))})


@router.post("/users", summary="Create a user", status_code=201)
def create_user(body: NameBody, client: Asking) -> Response:
    """A user without rights."""
    return Answer(to_json(client.access.create_user(body.name)), 201)


@router.get("/users/{name}", summary="One user")
def user(name: str, client: Asking) -> Response:
    """A user with its groups."""
    return Answer(to_json(client.access.user(name)))


@router.put("/users/{name}/disabled", summary="Disable or enable a user")
def put_disabled(name: str, body: DisabledBody, client: Asking) -> Response:
    """The tokens of a disabled user are refused."""
    return Answer(to_json(client.access.put_disabled(name, disabled=body.disabled)))


@router.put("/users/{name}/groups/{group}", summary="Add a user to a group")
def join(name: str, group: str, body: EmptyBody, client: Asking) -> Response:  # noqa: ARG001
    """The user has the roles of the group from now on."""
    return Answer(to_json(client.access.put_in_group(name, group, inside=True)))


@router.delete("/users/{name}/groups/{group}", summary="Remove a user from a group")
def leave(name: str, group: str, client: Asking) -> Response:
    """The user does not have the roles of the group any more."""
    return Answer(to_json(client.access.put_in_group(name, group, inside=False)))


@router.get("/projects", summary="List projects")
def projects(client: Asking, allowed: Decided) -> Response:
    """The projects that the token may read, oldest first."""
    found = [
        each for each in client.access.projects() if allowed.projects is None or each.name in allowed.projects
    ]
    return Answer({"projects": list(map(to_json, found))})


@router.post("/projects", summary="Create a project", status_code=201)
def create_project(body: NameBody, client: Asking) -> Response:
    """A project without members."""
    return Answer(to_json(client.access.create_project(body.name)), 201)


@router.put("/projects/{project}", summary="Change the share of a project")
def put_share(project: str, body: ShareBody, client: Asking) -> Response:
    """The project with its share."""
    return Answer(to_json(client.access.put_share(project, weight=body.weight)))


@router.get("/projects/{project}", summary="One project")
def project(project: str, client: Asking) -> Response:
    """A project with its permissions and its quota."""
    return Answer(to_json(client.access.project(project)))


@router.post("/projects/{project}/permits", summary="Change the permissions of a project")
def change_permits(project: str, body: PermitsBody, client: Asking) -> Response:
    """The project. Runs that wait and are not permitted any more end with the cause not_permitted."""
    return Answer(to_json(client.access.change_permits(project, permit=body.permit, forbid=body.forbid)))


@router.put("/projects/{project}/quota", summary="Change the quota of a project")
def put_quota(project: str, body: QuotaBody, client: Asking) -> Response:
    """The project with these limits, in place of all earlier ones."""
    return Answer(to_json(client.access.put_quota(project, Quota(**body.model_dump()))))


@router.get("/projects/{project}/secrets", summary="List the secrets of a project")
def secrets(project: str, client: Asking) -> Response:
    """Names, without values."""
    return Answer({"secrets": list(map(to_json, client.access.secrets(project)))})


@router.put("/projects/{project}/secrets/{name}", summary="Set a secret of a project")
def put_secret(project: str, name: str, body: SecretBody, client: Asking) -> Response:
    """Runs that are submitted from now on get this value."""
    client.access.put_secret(project, name, body.value)
    return Answer({"project": project, "name": name})


@router.delete("/projects/{project}/secrets/{name}", summary="Delete a secret of a project")
def remove_secret(project: str, name: str, client: Asking) -> Response:
    """Runs that wait for their start and need it end with the cause not_permitted."""
    client.access.remove_secret(project, name)
    return Answer({"project": project, "name": name})


@router.get("/projects/{project}/members", summary="List the members of a project")
def members(project: str, client: Asking) -> Response:
    """Users and groups with their roles; ``*`` as the project: in all projects."""
    return Answer({"members": list(map(to_json, client.access.members(project)))})


@router.put("/projects/{project}/members/{member}", summary="Give a member a role")
def grant(project: str, member: str, body: RoleBody, client: Asking) -> Response:
    """``member``: a user, or a group as ``@NAME``. Another role is replaced."""
    client.access.grant(project, member, body.role)
    return Answer({"project": project, "member": member, "role": body.role.value})


@router.delete("/projects/{project}/members/{member}", summary="Remove a member")
def end_membership(project: str, member: str, client: Asking) -> Response:
    """The member does not have a role in the project any more."""
    client.access.end_membership(project, member)
    return Answer({"project": project, "member": member, "role": None})


@router.get("/tokens", summary="List tokens")
def tokens(client: Asking) -> Response:
    """All tokens without their secrets, oldest first."""
    return Answer({"tokens": list(map(to_json, client.access.tokens()))})


@router.post("/tokens", summary="Create a token", status_code=201)
def create_token(body: TokenBody, client: Asking) -> Response:
    """The token and its text, which is not stored and not shown again."""
    made = client.access.create_token(
        body.user, project=body.project, role=body.role, about=body.about, lasts_s=body.lasts_s
    )
    return Answer(
        {"token": to_json(made.token), "text": made.text}, 201, headers={"Cache-Control": "no-store"}
    )


@router.get("/tokens/{prefix}", summary="One token")
def token(prefix: str, client: Asking) -> Response:
    """A token without its secret."""
    return Answer(to_json(client.access.token(prefix)))


@router.delete("/tokens/{prefix}", summary="Revoke a token")
def revoke_token(prefix: str, client: Asking) -> Response:
    """The token is refused from now on."""
    return Answer(to_json(client.access.revoke_token(prefix)))


@router.get("/sign-ins", summary="List sign-ins")
def sign_ins(client: Asking) -> Response:
    """Browsers in which people have signed in, oldest first; also those that ended lately."""
    return Answer({"sign_ins": list(map(to_json, client.access.sign_ins()))})


@router.delete("/sign-ins/{id}", summary="End a sign-in")
def revoke_sign_in(id: str, client: Asking) -> Response:  # noqa: A002  the name in the address
    """The browser must sign in again."""
    return Answer(to_json(client.access.revoke_sign_in(id)))


@router.get("/decisions", summary="Decisions about rights")
def decisions(
    client: Asking,
    actor: str = "",
    since_s: float = 0.0,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 100,
    *,
    refused: bool = False,
) -> Response:
    """The newest decisions, newest first. Equal reads are counted."""
    found = client.access.decisions(actor=actor, refused=refused, since_s=since_s, limit=limit)
    return Answer({"decisions": list(map(to_json, found))})
