"""Users, projects, memberships and tokens in each database, and what a view of some projects contains."""

from dataclasses import replace

import pytest

from anubis.contracts.runs import RunQuery
from anubis.model.access.roles import Decision, Membership, Role, roles_of
from anubis.model.access.tokens import is_secret, parts_of
from anubis.model.errors import BadInputError, ConflictError, NotFoundError
from anubis.model.identity import in_project
from anubis.model.run import Step
from anubis.model.status import Status
from anubis.store import open_store
from anubis.testing import a_point, a_run, an_event
from anubis.testing.builders import NOW_S
from anubis.testing.contracts.alerts import an_alert
from anubis.testing.contracts.runs import claimed

BY = Decision(time_s=NOW_S, last_s=NOW_S, actor="op", action="", allowed=True)


@pytest.fixture
def store(database_url):
    opened = open_store(database_url)
    yield opened
    opened.close()


@pytest.fixture
def stored(store):
    return store.identities


def token_of(stored, user, **changes):
    given = {"project": "*", "role": Role.ADMIN, "about": "", "expires_s": NOW_S + 100, **changes}
    return stored.create_token(user, by=BY, **given)


def roles(stored, prefix):
    known = stored.known(prefix)
    return roles_of(known.token, known.roles)


def test_only_the_digest_of_a_secret_is_stored(stored):
    stored.create_user("bob", by=BY)
    text, token = token_of(stored, "bob")
    prefix, secret = parts_of(text)
    known = stored.known(prefix)
    assert (known.token, known.is_active, known.roles) == (token, True, {})
    assert is_secret(secret, known.digest)
    assert not is_secret(f"{secret[:-1]}_", known.digest)
    assert not is_secret(secret, None)
    assert secret.encode() not in known.digest
    assert stored.known("0" * 12) is None


def test_a_token_gives_at_most_the_rights_of_its_user(stored):
    stored.create_user("bob", by=BY)
    for name in ("a", "b"):
        stored.create_project(name, by=BY)
    everything = token_of(stored, "bob")[1].prefix
    narrow = token_of(stored, "bob", project="a", role=Role.SUBMITTER)[1].prefix
    other = token_of(stored, "bob", project="b")[1].prefix
    assert roles(stored, everything) == roles(stored, narrow) == {}
    stored.grant(Membership(project="a", member="bob", role=Role.VIEWER), by=BY)
    assert roles(stored, everything) == roles(stored, narrow) == {"a": Role.VIEWER}
    assert roles(stored, other) == {}
    stored.put_in_group("bob", "team", inside=True, by=BY)
    stored.grant(Membership(project="*", member="@team", role=Role.ADMIN), by=BY)
    assert roles(stored, everything) == {"a": Role.VIEWER, "*": Role.ADMIN}
    assert roles(stored, narrow) == {"a": Role.SUBMITTER}
    assert roles(stored, other) == {"b": Role.ADMIN}
    stored.put_in_group("bob", "team", inside=False, by=BY)
    stored.end_membership("a", "bob", by=BY)
    assert roles(stored, everything) == {}


def test_an_administrator_needs_a_valid_token_and_the_role(stored):
    stored.create_user("bob", by=BY)
    prefix = token_of(stored, "bob")[1].prefix
    assert not stored.has_admin_token(NOW_S)
    stored.grant(Membership(project="*", member="bob", role=Role.SUBMITTER), by=BY)
    assert not stored.has_admin_token(NOW_S)
    stored.grant(Membership(project="*", member="bob", role=Role.ADMIN), by=BY)
    assert stored.has_admin_token(NOW_S)
    assert not stored.has_admin_token(NOW_S + 100), "it has expired"
    stored.put_disabled("bob", disabled=True, by=BY)
    assert not stored.has_admin_token(NOW_S)
    stored.put_disabled("bob", disabled=False, by=BY)
    stored.revoke_token(prefix, by=BY)
    assert not stored.has_admin_token(NOW_S)


def test_a_token_ends_by_its_time_or_by_revocation(stored):
    stored.create_user("bob", by=BY)
    token = token_of(stored, "bob")[1]
    assert token.refusal(NOW_S + 99.9) == ""
    assert token.refusal(NOW_S + 100) == "expired"
    revoked = stored.revoke_token(token.prefix, by=replace(BY, time_s=NOW_S + 5))
    assert stored.revoke_token(token.prefix, by=replace(BY, time_s=NOW_S + 9)) == revoked
    assert (revoked.refusal(NOW_S), revoked.revoked_s) == ("revoked", NOW_S + 5)
    with pytest.raises(BadInputError):
        token_of(stored, "bob", expires_s=NOW_S)


def test_the_last_use_is_stored_to_the_minute(stored):
    stored.create_user("bob", by=BY)
    token = token_of(stored, "bob")[1]
    assert token.used_s is None
    for at_s, expected in ((NOW_S, NOW_S), (NOW_S + 59, NOW_S), (NOW_S + 60, NOW_S + 60), (NOW_S, NOW_S)):
        stored.note_use(stored.token(token.prefix), at_s)
        assert stored.token(token.prefix).used_s == expected


def test_wrong_names_change_nothing(stored):
    stored.create_user("bob", by=BY)
    before = stored.decisions.find()
    for refused, work in (
        (ConflictError, lambda: stored.create_user("bob", by=BY)),
        (ConflictError, lambda: stored.create_project("default", by=BY)),
        (BadInputError, lambda: stored.create_user("@bob", by=BY)),
        (BadInputError, lambda: stored.create_project("*", by=BY)),
        (BadInputError, lambda: stored.put_in_group("bob", "a b", inside=True, by=BY)),
        (BadInputError, lambda: stored.put_share("default", weight=0.0, by=BY)),
        (NotFoundError, lambda: stored.put_share("x", weight=1.0, by=BY)),
        (NotFoundError, lambda: stored.put_disabled("x", disabled=True, by=BY)),
        (NotFoundError, lambda: stored.put_in_group("bob", "team", inside=False, by=BY)),
        (NotFoundError, lambda: stored.grant(Membership(project="x", member="bob", role=Role.ADMIN), by=BY)),
        (NotFoundError, lambda: stored.grant(Membership(project="*", member="x", role=Role.ADMIN), by=BY)),
        (NotFoundError, lambda: stored.end_membership("default", "bob", by=BY)),
        (NotFoundError, lambda: stored.revoke_token("0" * 12, by=BY)),
        (NotFoundError, lambda: token_of(stored, "x")),
        (NotFoundError, lambda: token_of(stored, "bob", project="x")),
    ):
        with pytest.raises(refused):
            work()
    assert stored.decisions.find() == before
    assert (stored.tokens(), stored.memberships()) == ([], [])


def test_decisions_are_listed_newest_first_and_forgotten_late(stored):
    made = [replace(BY, actor=name, action="GET /runs", allowed=name != "eve", last_s=NOW_S + at)
            for at, name in enumerate(("ann", "eve", "ann", "eve"))]  # fmt: skip
    stored.decisions.add(made)
    assert [each.last_s for each in stored.decisions.find()] == [NOW_S + at for at in (3, 2, 1, 0)]
    assert {each.actor for each in stored.decisions.find(refused=True)} == {"eve"}
    assert len(stored.decisions.find(actor="ann", since_s=NOW_S + 1)) == 1
    newest = stored.decisions.find(limit=1)[0]
    assert [each.last_s for each in stored.decisions.find(before_no=newest.no, limit=1)] == [NOW_S + 2]
    assert stored.decisions.forget(NOW_S + 400 * 86_400.0 + 2) == 2
    assert len(stored.decisions.find()) == 2


def test_a_view_contains_only_its_projects(store):
    for name in ("one", "two"):
        store.identities.create_project(name, by=BY)
    mine, others = in_project(a_run(), "one"), in_project(a_run(), "two")
    for run in (mine, others):
        store.runs.add([(run, "")], [an_event(run, "submitted")])
    for run in claimed(store):
        point = a_point(run, series_key=run.series_key) if run.project else None
        store.leases.apply("one", run, Step(status=Status.SUCCEEDED, points=(point,)), now_s=NOW_S)
    alerts = [an_alert(letter * 16, run_id=run.id) for letter, run in (("a", mine), ("b", others))]
    store.alerts.put(alerts, [])
    view, nothing = store.within({"one"}), store.within(())
    assert view.runs.get(mine.id).id == mine.id
    assert [row.id for row in view.runs.find(RunQuery())] == [mine.id]
    assert view.runs.find(RunQuery(projects=("two",))) == []
    assert {event.run_id for event in view.events.read()} == {mine.id}
    assert {row.series_key for row in view.points.series()} == {mine.series_key}
    assert len({row.series_key for row in store.points.series()}) == 2
    assert [alert.id for alert in view.alerts.find()] == ["a" * 16]
    assert view.alerts.get("a").id == "a" * 16
    assert view.runs.names().benchmarks == store.runs.names().benchmarks
    for hidden in (
        lambda: view.runs.get(others.id),
        lambda: view.alerts.get("b"),
        lambda: nothing.runs.get(mine.id),
    ):
        with pytest.raises(NotFoundError):
            hidden()
    assert nothing.runs.find(RunQuery()) == nothing.events.read() == nothing.points.series() == []
    assert nothing.runs.names().benchmarks == ()


def test_a_run_of_an_unknown_project_is_not_stored(store):
    with pytest.raises(BadInputError, match="no project"):
        store.runs.add([(in_project(a_run(), "unknown"), "")], [])
    assert store.runs.find(RunQuery()) == []
