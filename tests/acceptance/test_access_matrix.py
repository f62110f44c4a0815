"""Every route of the service with every role, and without a valid token. A new route fails until it is listed here."""

from dataclasses import dataclass
from importlib import import_module

import pytest

from anubis.web import joined, routes
from anubis.web.access.policy import POLICY, PREFIX, route_name
from anubis.web.app import description
from anubis.web.hooks import routes as hooks
from anubis.web.legacy import routes as legacy
from anubis.web.pages import assets
from anubis.web.pages import routes as pages
from support.access import Identities, ask, client_with
from support.processes import until
from support.service import Service

TEXT = """spec_version = "1.0"
[info]
name = "secret-benchmark"
[hardware]
instance_type = "local"
[ml]
benchmark_code = "echo score=1.5"
[[output.metrics]]
name = "score"
units = "1"
pattern = 'score=(\\S+)'
"""
DESCRIPTOR = {"text": TEXT, "folder": "/"}
SCHEDULE = {"descriptor": DESCRIPTOR, "overrides": {"info.scheduling": "@yearly"}}
UNKNOWN = "0" * 32
CLIENT = "0123456789abcdef"
OUTSIDE = ("/", "/api", "/ready", "/lively", "/healthz", "/readyz", "/metrics", "/mcp")
SPACE = {"before_s": 0.0, "dry_run": True}
LEVELS = {"viewer": 1, "submitter": 2, "admin": 3}


@dataclass
class Case:
    """How a route is called, and who may call it.

    ``{run}`` and ``{schedule}`` are objects of the project "one"; a case without one cannot show that they are hidden.
    """

    path: str
    body: object = None
    #: The lowest role; None: no login.
    least: str | None = "viewer"
    #: Where the role is needed: project, all, or any for every valid token.
    where: str = "project"


CASES = {
    "GET /runs": Case("/runs"),
    "POST /runs": Case("/runs", {"descriptors": []}, "submitter"),
    "POST /runs/batches": Case("/runs/batches", {"submissions": []}, "submitter"),
    "GET /names": Case("/names"),
    "POST /runs/short-ids": Case("/runs/short-ids", {"ids": []}),
    "POST /runs/cancellations": Case("/runs/cancellations", {"refs": ["{run}"]}, "submitter"),
    "POST /runs/purge": Case("/runs/purge", {"refs": [UNKNOWN]}, "admin"),
    "GET /engines": Case("/engines"),
    "GET /runs/{ref}": Case("/runs/{run}"),
    "GET /runs/{ref}/family": Case("/runs/{run}/family"),
    "GET /runs/{ref}/descriptor": Case("/runs/{run}/descriptor"),
    "GET /runs/{ref}/timeline": Case("/runs/{run}/timeline"),
    "POST /runs/{ref}/replay": Case("/runs/{run}/replay", {"folder": "relative"}, "submitter"),
    "GET /runs/{ref}/differences": Case("/runs/{run}/differences?of={run}"),
    "GET /points": Case("/points?run={run}"),
    "GET /runs/{ref}/metrics": Case("/runs/{run}/metrics"),
    "GET /runs/{ref}/sample-columns": Case("/runs/{run}/sample-columns?metric=score"),
    "GET /runs/{ref}/sample-blocks": Case("/runs/{run}/sample-blocks"),
    "POST /runs/{ref}/index": Case("/runs/{run}/index", None, "admin"),
    "GET /logs": Case("/logs?pattern=score", None, "viewer", "all"),
    "GET /runs/{ref}/record": Case("/runs/{run}/record"),
    "GET /runs/{ref}/record/{attempt}/{role}/{rank}/{file:path}": Case(
        "/runs/{run}/record/1/benchmark/0/stdout"
    ),
    "GET /runs/{ref}/logs": Case("/runs/{run}/logs"),
    "POST /runs/{ref}/extraction": Case("/runs/{run}/extraction", None, "admin"),
    "GET /runs/{ref}/archive": Case("/runs/{run}/archive"),
    "POST /archives": Case("/archives", b"no archive", "admin", "all"),
    "PUT /scripts/{key}": Case("/scripts/0.tar", b"no archive", "submitter"),
    "POST /seals": Case("/seals", None, "admin", "all"),
    "POST /seals/comparison": Case("/seals/comparison", {}, "admin", "all"),
    "GET /events": Case("/events?run={run}&after=0"),
    "POST /comparisons": Case("/comparisons", {"baseline": ["{run}"], "contender": ["{run}"]}),
    "POST /checks": Case("/checks", {"contests": [{"contender": ["{run}"]}]}),
    "GET /alerts": Case("/alerts"),
    "GET /alerts/{alert_id}": Case(f"/alerts/{UNKNOWN}"),
    "GET /alerts/{alert_id}/deliveries": Case(f"/alerts/{UNKNOWN}/deliveries"),
    "POST /alerts/{alert_id}/decisions": Case(
        f"/alerts/{UNKNOWN}/decisions", {"decision": "acknowledge", "why": "x"}, "submitter"
    ),
    "GET /series": Case("/series"),
    "POST /series/analysis": Case("/series/analysis", {"benchmark": "none"}, "admin"),
    "GET /reports": Case("/reports?name={run}"),
    "POST /sweeps/plans": Case("/sweeps/plans", {"descriptor": DESCRIPTOR}, "submitter"),
    "POST /sweeps": Case("/sweeps", {"descriptor": DESCRIPTOR}, "submitter"),
    "GET /sweeps": Case("/sweeps"),
    "GET /sweeps/{ref}": Case(f"/sweeps/{UNKNOWN}"),
    "GET /sweeps/{ref}/state": Case(f"/sweeps/{UNKNOWN}/state"),
    "POST /sweeps/{ref}/pause": Case(f"/sweeps/{UNKNOWN}/pause", {}, "submitter"),
    "POST /sweeps/{ref}/cancellation": Case(f"/sweeps/{UNKNOWN}/cancellation", {}, "submitter"),
    "POST /sweeps/{ref}/resume": Case(f"/sweeps/{UNKNOWN}/resume", {}, "submitter"),
    "POST /sweeps/{ref}/retry": Case(f"/sweeps/{UNKNOWN}/retry", {"causes": ["lost"]}, "submitter"),
    "PUT /schedules": Case("/schedules", {"descriptor": {"text": "", "folder": "/"}}, "submitter"),
    "GET /schedules": Case("/schedules"),
    "GET /schedules/{ref}": Case("/schedules/{schedule}"),
    "GET /schedules/{ref}/descriptor": Case("/schedules/{schedule}/descriptor"),
    "GET /schedules/{ref}/due-times": Case("/schedules/{schedule}/due-times"),
    "POST /schedules/{ref}/pause": Case("/schedules/{schedule}/pause", {}, "submitter"),
    "POST /schedules/{ref}/resume": Case("/schedules/{schedule}/resume", {}, "submitter"),
    "POST /schedules/{ref}/trigger": Case("/schedules/{schedule}/trigger", {}, "submitter"),
    "DELETE /schedules/{ref}": Case(f"/schedules/{UNKNOWN}", None, "admin"),
    "GET /datasets": Case("/datasets", None, "viewer", "all"),
    "GET /datasets/files/{sha256}": Case(f"/datasets/files/{UNKNOWN}", None, "viewer", "all"),
    "POST /storage/archive": Case("/storage/archive", {"through_seq": -1}, "admin", "all"),
    "POST /datasets/verify": Case("/datasets/verify", {"ref": "x"}, "admin", "all"),
    "POST /datasets/prune": Case("/datasets/prune", SPACE, "admin", "all"),
    "POST /storage/collect": Case("/storage/collect", SPACE, "admin", "all"),
    "POST /storage/pack": Case("/storage/pack", SPACE, "admin", "all"),
    "POST /storage/expire": Case("/storage/expire", {"dry_run": True}, "admin", "all"),
    "GET /holds": Case("/holds", None, "admin", "all"),
    "POST /holds": Case("/holds", {"runs": [UNKNOWN], "why": "x"}, "admin", "all"),
    "POST /holds/release": Case("/holds/release", {"runs": [UNKNOWN], "why": "x"}, "admin", "all"),
    "GET /webhooks": Case("/webhooks", None, "admin", "all"),
    "POST /webhooks": Case("/webhooks", {"address": "x", "secret": "x"}, "admin", "all"),
    "GET /webhooks/{ref}": Case(f"/webhooks/{UNKNOWN}", None, "admin", "all"),
    "DELETE /webhooks/{ref}": Case(f"/webhooks/{UNKNOWN}", None, "admin", "all"),
    "POST /webhooks/{ref}/resume": Case(f"/webhooks/{UNKNOWN}/resume", None, "admin", "all"),
    "POST /webhooks/{ref}/test": Case(f"/webhooks/{UNKNOWN}/test", None, "admin", "all"),
    "POST /triggers": Case("/triggers", {"name": "-"}, "admin"),
    "GET /triggers": Case("/triggers", None, "admin"),
    "GET /triggers/{name}": Case("/triggers/one:main", None, "admin"),
    "GET /triggers/{name}/deliveries": Case("/triggers/one:main/deliveries", None, "admin"),
    "DELETE /triggers/{name}": Case("/triggers/one:main", None, "admin"),
    "GET /workers": Case("/workers", None, "viewer", "all"),
    "GET /workers/{name}": Case("/workers/unknown", None, "viewer", "all"),
    "POST /alternations": Case("/alternations", {"descriptors": [DESCRIPTOR]}, "submitter"),
    "GET /alternations/{ref}": Case("/alternations/{run}"),
    "GET /alternations/{ref}/state": Case("/alternations/{run}/state"),
    "PUT /alternations/{ref}/rounds": Case("/alternations/{run}/rounds", {"after": 2}, "submitter"),
    "GET /bisections/{key}": Case(f"/bisections/{UNKNOWN}"),
    "GET /bisections/{key}/values": Case(f"/bisections/{UNKNOWN}/values?metric=score"),
    "POST /bisections/{key}/runs": Case(
        f"/bisections/{UNKNOWN}/runs", {"like": "{run}", "trees": [{"commit": "0" * 40}]}, "submitter"
    ),
    "POST /histories": Case("/histories?format=csv&dry_run=true", b"no history", "submitter"),
    "POST /workers/{name}/token": Case("/workers/-no-name-/token", None, "admin", "all"),
    "DELETE /workers/{name}/token": Case("/workers/unknown/token", None, "admin", "all"),
    "GET /whoami": Case("/whoami", None, "viewer", "any"),
    "GET /users": Case("/users", None, "admin", "all"),
    "POST /users": Case("/users", {"name": "-"}, "admin", "all"),
    "GET /users/{name}": Case("/users/unknown", None, "admin", "all"),
    "PUT /users/{name}/disabled": Case("/users/unknown/disabled", {"disabled": True}, "admin", "all"),
    "PUT /users/{name}/groups/{group}": Case("/users/unknown/groups/g", {}, "admin", "all"),
    "DELETE /users/{name}/groups/{group}": Case("/users/unknown/groups/g", None, "admin", "all"),
    "GET /projects": Case("/projects"),
    "POST /projects": Case("/projects", {"name": "-"}, "admin", "all"),
    "PUT /projects/{project}": Case("/projects/unknown", {"weight": 2.0}, "admin", "all"),
    "GET /projects/{project}": Case("/projects/one"),
    "POST /projects/{project}/permits": Case("/projects/unknown/permits", {"permit": []}, "admin", "all"),
    "PUT /projects/{project}/quota": Case("/projects/unknown/quota", {"running": 1}, "admin", "all"),
    "GET /projects/{project}/secrets": Case("/projects/one/secrets", None, "admin"),
    "PUT /projects/{project}/secrets/{name}": Case("/projects/one/secrets/-", {"value": "longer"}, "admin"),
    "DELETE /projects/{project}/secrets/{name}": Case("/projects/one/secrets/unknown", None, "admin"),
    "GET /projects/{project}/members": Case("/projects/one/members", None, "admin"),
    "PUT /projects/{project}/members/{member}": Case(
        "/projects/one/members/unknown", {"role": "viewer"}, "admin"
    ),
    "DELETE /projects/{project}/members/{member}": Case("/projects/one/members/unknown", None, "admin"),
    "GET /tokens": Case("/tokens", None, "admin", "all"),
    "POST /tokens": Case("/tokens", {"user": "unknown", "lasts_s": 1.0}, "admin", "all"),
    "GET /tokens/{prefix}": Case("/tokens/unknown", None, "admin", "all"),
    "DELETE /tokens/{prefix}": Case("/tokens/unknown", None, "admin", "all"),
    "GET /sign-ins": Case("/sign-ins", None, "admin", "all"),
    "DELETE /sign-ins/{id}": Case("/sign-ins/unknown", None, "admin", "all"),
    "GET /decisions": Case("/decisions", None, "admin", "all"),
    "GET /openapi.json": Case("/openapi.json", None, None),
    "GET /healthz": Case("/healthz", None, None),
    "GET /readyz": Case("/readyz", None, None),
    "GET /metrics": Case("/metrics", None, "viewer", "all"),
    "POST /mcp": Case("/mcp", {}, "viewer", "any"),
    "GET /ui": Case("/ui"),
    "GET /ui/runs": Case("/ui/runs"),
    "GET /ui/runs/{ref}": Case("/ui/runs/{run}"),
    "POST /ui/runs/{ref}/cancellation": Case("/ui/runs/{run}/cancellation", {}, "submitter"),
    "POST /ui/runs/{ref}/replay": Case(f"/ui/runs/{UNKNOWN}/replay", {}, "submitter"),
    "GET /ui/runs/{ref}/output": Case("/ui/runs/{run}/output"),
    "GET /ui/runs/{ref}/output/stream": Case("/ui/runs/{run}/output/stream?place=1:"),
    "GET /ui/changes": Case("/ui/changes"),
    "GET /ui/benchmarks": Case("/ui/benchmarks"),
    "GET /ui/benchmarks/{name:path}": Case("/ui/benchmarks/unknown"),
    "GET /ui/compare": Case("/ui/compare?a={run}&b={run}"),
    "GET /ui/alerts": Case("/ui/alerts"),
    "GET /ui/alerts/{alert_id}": Case(f"/ui/alerts/{UNKNOWN}"),
    "POST /ui/alerts/{alert_id}/decisions": Case(f"/ui/alerts/{UNKNOWN}/decisions", {}, "submitter"),
    "POST /ui/alerts/{alert_id}/confirmation": Case(f"/ui/alerts/{UNKNOWN}/confirmation", {}, "submitter"),
    "GET /ui/families": Case("/ui/families"),
    "GET /ui/families/{ref}": Case(f"/ui/families/{UNKNOWN}"),
    "POST /ui/families/{ref}/retry": Case(f"/ui/families/{UNKNOWN}/retry", {}, "submitter"),
    "POST /ui/families/{ref}/phase": Case(f"/ui/families/{UNKNOWN}/phase", {}, "submitter"),
    "GET /ui/schedules": Case("/ui/schedules"),
    "GET /ui/schedules/{ref}": Case("/ui/schedules/{schedule}"),
    "POST /ui/schedules/{ref}/phase": Case(f"/ui/schedules/{UNKNOWN}/phase", {}, "submitter"),
    "POST /ui/schedules/{ref}/trigger": Case(f"/ui/schedules/{UNKNOWN}/trigger", {}, "submitter"),
    "GET /ui/machines": Case("/ui/machines", None, "viewer", "all"),
    "GET /ui/data": Case("/ui/data", None, "viewer", "all"),
    "GET /ui/events": Case("/ui/events"),
    "GET /ui/settings": Case("/ui/settings", None, "viewer", "any"),
    "GET /ui/search": Case("/ui/search?pattern=score", None, "viewer", "all"),
    "GET /ui/submit": Case("/ui/submit?run={run}"),
    "POST /ui/submit": Case("/ui/submit", {}, "submitter"),
    "GET /ui/static/{version}/{name:path}": Case("/ui/static/0/pages.css", None, None),
    "GET /": Case("/", None, None),
    "GET /api": Case("/api", None, None),
    "GET /ready": Case("/ready", None, None),
    "GET /lively": Case("/lively", None, None),
    "GET /api/tools/anubis": Case("/api/tools/anubis", None, None),
    "GET /api/job/script/{filename}": Case("/api/job/script/x.tar", None, "submitter"),
    "POST /api/job/descriptor": Case("/api/job/descriptor", b"no form", "submitter"),
    "GET /api/job/results/{client_id}/{action_id}": Case(f"/api/job/results/{CLIENT}/{UNKNOWN}"),
    "GET /api/job/{client_id}": Case(f"/api/job/{CLIENT}"),
    "GET /api/job/{client_id}/{action_id}": Case(f"/api/job/{CLIENT}/{UNKNOWN}"),
    "DELETE /api/job/{client_id}/{action_id}": Case(f"/api/job/{CLIENT}/{UNKNOWN}", {}, "submitter"),
}
#: The old system answered these too, without a result.
NOTHING = {"GET /ui/{rest:path}", "POST /api/job/", "DELETE /api/job/{client_id}"} | {
    f"{method} /api/{rest}/{{rest:path}}"
    for rest in ("tools", "job")
    for method in ("GET", "POST", "PUT", "PATCH", "DELETE")
}
#: Members: (role, where).
MEMBERS = {f"{role}-{where}": (role, where) for role in LEVELS for where in ("one", "two", "all")}
#: Tokens with fewer rights than their users, who are administrators of everything.
NARROW = {
    "limited-role": ("viewer", "all"),
    "limited-project": ("admin", "two"),
}
REFUSED = ("none", "garbage", "wrong-secret", "expired", "revoked", "disabled")


def known_routes():
    """The names of all routes of the service."""
    for noun in routes.NOUNS:
        for route in import_module(f"anubis.web.routes.{noun}").router.routes:
            for method in route.methods:
                yield route_name(method, route.path)
    for route in legacy.router.routes:
        yield from (route_name(method, route.path) for method in route.methods)
    for name in pages.VIEWS:
        for route in import_module(f"anubis.web.pages.views.{name}").router.routes:
            yield from (route_name(method, route.path) for method in route.methods)
    yield from (f"GET {route.path}" for route in assets.router.routes)
    yield "GET /ui/{rest:path}"
    yield from ("GET /openapi.json", "GET /healthz", "GET /readyz", "GET /metrics", "POST /mcp")


def test_every_route_has_a_rule_and_a_case():
    found = set(known_routes())
    assert found == set(POLICY) == set(CASES) | NOTHING


def test_routes_that_authorise_themselves_accept_no_token_of_a_user(served):
    url, tokens, _ = served
    values = {"run_id": UNKNOWN, "attempt:int": "1", "attempt": "1", "name": "unknown", "role": "benchmark"}
    found = []
    for route in [*joined.routes(), hooks.ROUTE]:
        path = filled(route.path, {**values, "rank": "0", "file": "stdout"})
        for who in ("none", "garbage", "admin-all"):
            status, _, _ = ask(url, min(route.methods - {"HEAD"}), path, b"{}", token=tokens[who])
            found.append((path, who, status))
    assert [each for each in found if each[2] != 401] == []
    assert len(found) == 18


def test_every_documented_route_has_a_rule():
    documented = {
        route_name(method.upper(), path)
        for path, methods in description().openapi()["paths"].items()
        for method in methods
    }
    assert len(documented) > 80
    assert documented <= {route.replace(":path", "") for route in POLICY}


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A service with a run and a schedule in the project "one", and tokens of everybody."""
    running = Service(tmp_path_factory.mktemp("matrix") / "home").start()
    try:
        identities, tokens = Identities(running.home), {"none": None, "garbage": "garbage"}
        for project in ("one", "two"):
            identities.project(project)
        for name, (role, where) in MEMBERS.items():
            identities.user(name, "*" if where == "all" else where, role)
            tokens[name], _ = identities.token(name)
        tokens["limited-role"], _ = identities.token("admin-all", role="viewer")
        tokens["limited-project"], _ = identities.token("admin-all", project="two")
        tokens["expired"] = identities.expired("admin-all")
        tokens["wrong-secret"] = tokens["admin-all"][:-1] + ("A" if tokens["admin-all"][-1] != "A" else "B")
        tokens["revoked"], prefix = identities.token("admin-all")
        identities.change(lambda access: access.revoke_token(prefix))
        identities.user("gone", "*", "admin")
        tokens["disabled"], _ = identities.token("gone")
        identities.change(lambda access: access.put_disabled("gone", disabled=True))
        # The service looks for the first user once a second.
        until(lambda: ask(running.url, "GET", f"{PREFIX}/runs")[0] == 401, "the service asks for tokens")
        names = objects(running, tokens["admin-one"])
        yield running.url, tokens, names
    finally:
        running.stop()


def objects(service, token):
    """The ids of a final run and of a schedule in the project "one"."""
    status, _, found = ask(service.url, "POST", f"{PREFIX}/runs", {"descriptors": [DESCRIPTOR]}, token=token)
    assert status == 201, found
    run = found["runs"][0]["id"]
    with client_with(service, token) as client:
        until(lambda: client.runs.get(run).status.final, "the run is final")
    status, _, found = ask(service.url, "PUT", f"{PREFIX}/schedules", SCHEDULE, token=token)
    assert status == 200, found
    return {"run": run, "schedule": found["schedule"]["id"]}


def filled(value, names):
    if isinstance(value, str):
        for name, text in names.items():
            value = value.replace(f"{{{name}}}", text)
        return value
    if isinstance(value, dict):
        return {key: filled(item, names) for key, item in value.items()}
    return [filled(item, names) for item in value] if isinstance(value, list) else value


def expected(case, who):
    """What the answer must be: open, refused, forbidden, hidden or allowed."""
    if case.least is None:
        return "open"
    if who in REFUSED:
        return "refused"
    role, where = {**MEMBERS, **NARROW}[who]
    if case.where == "any":
        return "allowed"
    has_role = LEVELS[role] >= LEVELS[case.least]
    if not has_role or (case.where == "all" and where != "all"):
        return "forbidden"
    about_one = any(mark in f"{case.path} {case.body}" for mark in ("{run}", "{schedule}", "/projects/one"))
    return "hidden" if about_one and where == "two" else "allowed"


@pytest.mark.parametrize("who", [*REFUSED, *MEMBERS, *NARROW])
def test_a_route_does_what_the_role_allows(served, who):
    url, tokens, names = served
    wrong = []
    for route, case in CASES.items():
        method = route.split()[0]
        path = filled(case.path, names)
        is_outside = path in OUTSIDE or path.startswith(("/api/", "/ui"))
        address = path if is_outside else f"{PREFIX}{path}"
        status, headers, found = ask(url, method, address, filled(case.body, names), token=tokens[who])
        right = {
            "open": status == 200,
            "refused": status == 401 and headers["WWW-Authenticate"].startswith("Bearer"),
            "forbidden": status == 403,
            "hidden": status == 404,
            "allowed": status not in {401, 403, 429, 500} and not (status == 404 and "{" in case.path),
        }[expected(case, who)]
        if not right:
            wrong.append((route, expected(case, who), status, found))
    assert wrong == []


def test_lists_have_only_what_the_project_has(served):
    url, tokens, names = served
    for who, sees in (
        ("viewer-one", True),
        ("admin-two", False),
        ("viewer-all", True),
        ("limited-project", False),
    ):
        for path in ("runs", "schedules", "series", "names", "events?after=0", f"runs?id={names['run']}"):
            status, _, found = ask(url, "GET", f"{PREFIX}/{path}", token=tokens[who])
            assert status == 200, found
            is_there = "secret-benchmark" in str(found) or names["run"] in str(found)
            assert is_there is sees, (who, path, found)
    projects = {
        who: [
            each["name"] for each in ask(url, "GET", f"{PREFIX}/projects", token=tokens[who])[2]["projects"]
        ]
        for who in ("viewer-one", "viewer-all")
    }
    assert projects == {"viewer-one": ["one"], "viewer-all": ["default", "one", "two"]}


def test_the_same_descriptor_in_two_projects_makes_two_series(served):
    url, tokens, names = served
    body = {"descriptors": [DESCRIPTOR]}
    _, _, found = ask(url, "POST", f"{PREFIX}/runs", body, token=tokens["submitter-two"])
    (run,) = found["runs"]
    first = ask(url, "GET", f"{PREFIX}/runs/{names['run']}", token=tokens["viewer-one"])[2]
    assert run["project"] == "two"
    assert run["digest"] == first["digest"]
    assert run["series_key"] != first["series_key"]
