"""What every route demands: the only table of rights. A route that is not listed answers no request.

The routes of joined workers authorise themselves by the tokens of machines (``anubis.web.joined``), and reports of
repositories by their signature (``anubis.web.hooks``), and sign-ins by their cookies and codes (``anubis.web.sign_in``).
"""

from dataclasses import dataclass

from anubis.model.access.roles import Permission

PREFIX = "/api/v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What a request to a route needs.

    Another kind of token, for example one that may only append to one record, gets a permission that no role has.
    """

    #: None: no login.
    permission: Permission | None
    #: Whether the permission must hold for all projects, because the route is about the whole installation.
    everywhere: bool = False
    #: Whether it stores objects in the project of the request.
    creates: bool = False
    #: Whether any valid token is enough.
    any_token: bool = False


OPEN = Rule(permission=None)
LOGIN = Rule(permission=Permission.READ, any_token=True)
READ = Rule(permission=Permission.READ)
SUBMIT = Rule(permission=Permission.SUBMIT)
CREATE = Rule(permission=Permission.SUBMIT, creates=True)
MANAGE = Rule(permission=Permission.MANAGE)
MANAGE_CREATE = Rule(permission=Permission.MANAGE, creates=True)
READ_ALL = Rule(permission=Permission.READ, everywhere=True)
MANAGE_ALL = Rule(permission=Permission.MANAGE, everywhere=True)

#: ``METHOD PATH``, without the prefix of the version -> what it needs.
POLICY = {
    "GET /runs": READ,
    "POST /runs": CREATE,
    "POST /runs/batches": CREATE,
    "GET /names": READ,
    "POST /runs/short-ids": READ,
    "POST /runs/cancellations": SUBMIT,
    "POST /runs/purge": MANAGE,
    "GET /engines": READ,
    "GET /runs/{ref}": READ,
    "GET /runs/{ref}/family": READ,
    "GET /runs/{ref}/descriptor": READ,
    "GET /runs/{ref}/timeline": READ,
    "POST /runs/{ref}/replay": SUBMIT,
    "GET /runs/{ref}/differences": READ,
    "GET /points": READ,
    "GET /runs/{ref}/metrics": READ,
    "GET /runs/{ref}/sample-columns": READ,
    "GET /runs/{ref}/sample-blocks": READ,
    "POST /runs/{ref}/index": MANAGE,
    "GET /logs": READ_ALL,  # the index of the output of all projects
    "GET /runs/{ref}/record": READ,
    "GET /runs/{ref}/record/{attempt}/{role}/{rank}/{file:path}": READ,
    "GET /runs/{ref}/logs": READ,
    "POST /runs/{ref}/extraction": MANAGE,
    "GET /runs/{ref}/archive": READ,
    "POST /archives": MANAGE_ALL,
    "PUT /scripts/{key}": SUBMIT,
    "POST /seals": MANAGE_ALL,
    "POST /seals/comparison": MANAGE_ALL,
    "GET /events": READ,
    "POST /comparisons": READ,
    "POST /checks": READ,
    "GET /alerts": READ,
    "GET /alerts/{alert_id}": READ,
    "GET /alerts/{alert_id}/deliveries": READ,
    "POST /alerts/{alert_id}/decisions": SUBMIT,
    "GET /series": READ,
    "POST /series/analysis": MANAGE,
    "GET /reports": READ,
    "POST /sweeps/plans": CREATE,
    "POST /sweeps": CREATE,
    "GET /sweeps": READ,
    "GET /sweeps/{ref}": READ,
    "GET /sweeps/{ref}/state": READ,
    "POST /sweeps/{ref}/pause": SUBMIT,
    "POST /sweeps/{ref}/cancellation": SUBMIT,
    "POST /sweeps/{ref}/resume": SUBMIT,
    "POST /sweeps/{ref}/retry": SUBMIT,
    "PUT /schedules": CREATE,
    "GET /schedules": READ,
    "GET /schedules/{ref}": READ,
    "GET /schedules/{ref}/descriptor": READ,
    "GET /schedules/{ref}/due-times": READ,
    "POST /schedules/{ref}/pause": SUBMIT,
    "POST /schedules/{ref}/resume": SUBMIT,
    "POST /schedules/{ref}/trigger": SUBMIT,
    "DELETE /schedules/{ref}": MANAGE,
    "GET /datasets": READ_ALL,
    "GET /datasets/files/{sha256}": READ_ALL,
    "POST /storage/archive": MANAGE_ALL,
    "POST /datasets/verify": MANAGE_ALL,
    "POST /datasets/prune": MANAGE_ALL,
    "POST /storage/collect": MANAGE_ALL,
    "POST /storage/pack": MANAGE_ALL,
    "POST /storage/expire": MANAGE_ALL,
    "GET /holds": MANAGE_ALL,
    "POST /holds": MANAGE_ALL,
    "POST /holds/release": MANAGE_ALL,
    "GET /webhooks": MANAGE_ALL,
    "POST /webhooks": MANAGE_ALL,
    "GET /webhooks/{ref}": MANAGE_ALL,
    "DELETE /webhooks/{ref}": MANAGE_ALL,
    "POST /webhooks/{ref}/resume": MANAGE_ALL,
    "POST /webhooks/{ref}/test": MANAGE_ALL,
    "POST /triggers": MANAGE_CREATE,
    "GET /triggers": MANAGE,
    "GET /triggers/{name}": MANAGE,
    "GET /triggers/{name}/deliveries": MANAGE,
    "DELETE /triggers/{name}": MANAGE,
    "GET /workers": READ_ALL,
    "GET /workers/{name}": READ_ALL,
    "POST /alternations": CREATE,
    "GET /alternations/{ref}": READ,
    "GET /alternations/{ref}/state": READ,
    "PUT /alternations/{ref}/rounds": SUBMIT,
    "GET /bisections/{key}": READ,
    "GET /bisections/{key}/values": READ,
    "POST /bisections/{key}/runs": CREATE,
    "POST /histories": CREATE,
    "POST /workers/{name}/token": MANAGE_ALL,
    "DELETE /workers/{name}/token": MANAGE_ALL,
    "GET /whoami": LOGIN,
    "GET /users": MANAGE_ALL,
    "POST /users": MANAGE_ALL,
    "GET /users/{name}": MANAGE_ALL,
    "PUT /users/{name}/disabled": MANAGE_ALL,
    "PUT /users/{name}/groups/{group}": MANAGE_ALL,
    "DELETE /users/{name}/groups/{group}": MANAGE_ALL,
    "GET /projects": READ,
    "POST /projects": MANAGE_ALL,
    "GET /projects/{project}": READ,
    "PUT /projects/{project}": MANAGE_ALL,
    "POST /projects/{project}/permits": MANAGE_ALL,
    "PUT /projects/{project}/quota": MANAGE_ALL,
    "GET /projects/{project}/secrets": MANAGE,
    "PUT /projects/{project}/secrets/{name}": MANAGE,
    "DELETE /projects/{project}/secrets/{name}": MANAGE,
    "GET /projects/{project}/members": MANAGE,
    "PUT /projects/{project}/members/{member}": MANAGE,
    "DELETE /projects/{project}/members/{member}": MANAGE,
    "GET /tokens": MANAGE_ALL,
    "POST /tokens": MANAGE_ALL,
    "GET /tokens/{prefix}": MANAGE_ALL,
    "DELETE /tokens/{prefix}": MANAGE_ALL,
    "GET /sign-ins": MANAGE_ALL,
    "DELETE /sign-ins/{id}": MANAGE_ALL,
    "GET /decisions": MANAGE_ALL,
    "GET /openapi.json": OPEN,
    "GET /healthz": OPEN,
    "GET /readyz": OPEN,
    "GET /metrics": READ_ALL,
    # Each tool needs the rights of another route: GET /runs, or POST /runs to submit.
    "POST /mcp": LOGIN,
    # Pages for browsers.
    "GET /ui": READ,
    "GET /ui/runs": READ,
    "GET /ui/runs/{ref}": READ,
    "POST /ui/runs/{ref}/cancellation": SUBMIT,
    "POST /ui/runs/{ref}/replay": SUBMIT,
    "GET /ui/runs/{ref}/output": READ,
    "GET /ui/runs/{ref}/output/stream": READ,
    "GET /ui/changes": READ,
    "GET /ui/benchmarks": READ,
    "GET /ui/benchmarks/{name:path}": READ,
    "GET /ui/compare": READ,
    "GET /ui/alerts": READ,
    "GET /ui/alerts/{alert_id}": READ,
    "POST /ui/alerts/{alert_id}/decisions": SUBMIT,
    "POST /ui/alerts/{alert_id}/confirmation": SUBMIT,
    "GET /ui/families": READ,
    "GET /ui/families/{ref}": READ,
    "POST /ui/families/{ref}/retry": SUBMIT,
    "POST /ui/families/{ref}/phase": SUBMIT,
    "GET /ui/schedules": READ,
    "GET /ui/schedules/{ref}": READ,
    "POST /ui/schedules/{ref}/phase": SUBMIT,
    "POST /ui/schedules/{ref}/trigger": SUBMIT,
    "GET /ui/machines": READ_ALL,
    "GET /ui/data": READ_ALL,
    "GET /ui/events": READ,
    "GET /ui/settings": LOGIN,
    "GET /ui/search": READ_ALL,
    "GET /ui/submit": READ,
    "POST /ui/submit": CREATE,
    "GET /ui/static/{version}/{name:path}": OPEN,
    "GET /ui/{rest:path}": OPEN,  # no such page
    # The old system. Its clients send no token, but a proxy can add one.
    "GET /": OPEN,
    "GET /api": OPEN,
    "GET /ready": OPEN,
    "GET /lively": OPEN,
    "GET /api/tools/anubis": OPEN,
    "GET /api/job/script/{filename}": SUBMIT,
    "POST /api/job/descriptor": CREATE,
    "GET /api/job/results/{client_id}/{action_id}": READ,
    "GET /api/job/{client_id}": READ,
    "GET /api/job/{client_id}/{action_id}": READ,
    "DELETE /api/job/{client_id}/{action_id}": SUBMIT,
    "POST /api/job/": OPEN,  # was never available
    "DELETE /api/job/{client_id}": OPEN,
    **{
        f"{method} /api/{rest}/{{rest:path}}": OPEN  # no answer has content
        for rest in ("tools", "job")
        for method in ("GET", "POST", "PUT", "PATCH", "DELETE")
    },
}
#: Routes outside of the versions, besides those below /api.
_OUTSIDE = ("/", "/healthz", "/readyz", "/metrics", "/mcp", "/ready", "/lively")


def route_name(method: str, path: str) -> str:
    """The name of a route in the table."""
    return f"{method} {path.removeprefix(PREFIX)}"


def reference() -> str:
    """The table as Markdown: every route, and the lowest role that may use it."""
    rows = ["| Request | Lowest role | In |", "|---|---|---|"]
    roles = {Permission.READ: "viewer", Permission.SUBMIT: "submitter", Permission.MANAGE: "admin"}
    for route, rule in POLICY.items():
        if rule.permission is None:
            role, where = "none, without a token", "-"
        elif rule.any_token:
            role, where = "none, with any valid token", "-"
        else:
            role, where = roles[rule.permission], "all projects" if rule.everywhere else "the project"
        method, path = route.split()
        if path.endswith("{rest:path}"):
            continue
        shown = (
            route
            if path in _OUTSIDE or f"{path}/".startswith(("/api/", "/ui/"))
            else f"{method} {PREFIX}{path}"
        )
        rows.append(f"| `{shown}` | {role} | {where} |")
    return "\n".join(rows)
