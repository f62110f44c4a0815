"""Sign-ins, their steps, and the users of identity providers in each database."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from anubis.model.access.roles import Decision, Membership, Role
from anubis.model.access.sign_ins import MARK, Identity, digest_of, form_token, parts_of
from anubis.model.errors import BadInputError, ForbiddenError, NotFoundError
from anubis.store import open_store
from anubis.store.access.sign_ins import KEPT_S
from anubis.testing.builders import NOW_S

BY = Decision(time_s=NOW_S, last_s=NOW_S, actor="op", address="127.0.0.1", action="", allowed=True)
ISSUER = "https://login.example.org"


@pytest.fixture
def identities(database_url):
    opened = open_store(database_url)
    yield opened.identities
    opened.close()


@pytest.fixture
def stored(identities):
    return identities.sign_ins


def bob(**changes):
    given = {"issuer": ISSUER, "subject": "1", "name": "bob", "groups": {}, **changes}
    return Identity(**given)


def enter(stored, identity, *, may_create=True):
    return stored.enter(identity, may_create=may_create, by=BY)


def actions(identities):
    return [each.action for each in reversed(identities.decisions.find(limit=1000))]


def test_only_the_digest_of_a_secret_is_stored(identities, stored):
    identities.create_user("bob", by=BY)
    text, made = stored.create("bob", issuer=ISSUER, about="a browser\0", expires_s=NOW_S + 10, by=BY)
    name, secret = parts_of(text)
    known = stored.known(name)
    assert known.sign_in == made == stored.get(name)
    assert (made.user, made.issuer, made.token, made.about) == ("bob", ISSUER, "", "a browser\ufffd")
    assert known.digest == digest_of(secret)
    assert secret.encode() not in known.digest
    assert stored.known("0" * 12) is None
    assert form_token(text) != form_token(f"{text[:-1]}_")
    last = identities.decisions.find()[0]
    assert (last.actor, last.token, last.address) == ("op", f"{MARK}{name}", "127.0.0.1")


@pytest.mark.parametrize("text", ["", ".", "0" * 12, f"{'0' * 12}.short", f"{'x' * 12}.{'a' * 43}"])
def test_a_text_that_cannot_be_a_cookie_has_no_parts(text):
    assert parts_of(text) is None


def test_an_unknown_user_cannot_sign_in(stored):
    with pytest.raises(NotFoundError):
        stored.create("bob", about="", expires_s=NOW_S + 10, by=BY)
    assert stored.all() == []


def test_a_sign_in_ends_by_its_time_or_by_revocation(identities, stored):
    identities.create_user("bob", by=BY)
    _, made = stored.create("bob", about="", expires_s=NOW_S + 10, by=BY)
    assert made.refusal(NOW_S + 9.9) == ""
    assert made.refusal(NOW_S + 10) == "expired"
    ended = stored.revoke(made.id, by=replace(BY, time_s=NOW_S + 1))
    assert (ended.refusal(NOW_S), ended.revoked_s) == ("ended", NOW_S + 1)
    assert stored.revoke(made.id, by=replace(BY, time_s=NOW_S + 5)) == ended
    assert actions(identities).count("end sign-in") == 1
    for unknown in ("0" * 12, "\0"):
        with pytest.raises(NotFoundError):
            stored.revoke(unknown, by=BY)


def test_rights_and_the_state_of_the_user_are_those_of_now(identities, stored):
    identities.create_user("bob", by=BY)
    _, made = stored.create("bob", about="", expires_s=NOW_S + 10, by=BY)
    identities.grant(Membership(project="*", member="bob", role=Role.ADMIN), by=BY)
    assert stored.known(made.id).roles == {"*": Role.ADMIN}
    identities.end_membership("*", "bob", by=BY)
    identities.put_disabled("bob", disabled=True, by=BY)
    known = stored.known(made.id)
    assert (known.roles, known.is_active) == ({}, False)


def test_the_last_use_is_stored_to_the_minute(identities, stored):
    identities.create_user("bob", by=BY)
    _, made = stored.create("bob", about="", expires_s=NOW_S + 1000, by=BY)
    stored.note_use(made, NOW_S + 1)
    used = stored.get(made.id)
    assert used.used_s == NOW_S + 1
    stored.note_use(used, NOW_S + 60)
    assert stored.get(made.id).used_s == NOW_S + 1
    stored.note_use(used, NOW_S + 61)
    assert stored.get(made.id).used_s == NOW_S + 61


def test_old_sign_ins_are_forgotten(identities, stored):
    identities.create_user("bob", by=BY)
    _, first = stored.create("bob", about="", expires_s=NOW_S + 10, by=BY)
    later = replace(BY, time_s=NOW_S + KEPT_S + 11)
    _, second = stored.create("bob", about="", expires_s=later.time_s + 10, by=later)
    assert [each.id for each in stored.all()] == [second.id]
    assert stored.known(first.id) is None


def test_a_step_is_taken_once_and_in_time(stored):
    stored.remember("key", {"nonce": "n"}, expires_s=NOW_S + 10, now_s=NOW_S)
    assert stored.take("another", NOW_S) is None
    assert stored.take("key", NOW_S + 9) == {"nonce": "n"}
    assert stored.take("key", NOW_S + 9) is None
    stored.remember("late", {}, expires_s=NOW_S + 10, now_s=NOW_S)
    assert stored.take("late", NOW_S + 10) is None
    assert stored.take("late", NOW_S) is None, "it is gone"


def test_two_replicas_take_a_step_once(stored):
    for number in range(10):
        stored.remember(f"key {number}", {}, expires_s=NOW_S + 10, now_s=NOW_S)
        with ThreadPoolExecutor(4) as pool:
            taken = list(pool.map(lambda _, key=f"key {number}": stored.take(key, NOW_S), range(4)))
        assert [each for each in taken if each is not None] == [{}]


def test_steps_that_expired_are_deleted_by_the_next_one(stored):
    stored.remember("old", {}, expires_s=NOW_S + 10, now_s=NOW_S)
    stored.remember("new", {}, expires_s=NOW_S + 30, now_s=NOW_S + 10)
    assert stored.take("old", NOW_S) is None


def test_a_person_gets_a_user_only_if_that_is_allowed(identities, stored):
    with pytest.raises(ForbiddenError, match="no user 'bob'"):
        enter(stored, bob(), may_create=False)
    assert identities.users() == []
    assert enter(stored, bob()) == "bob"
    assert actions(identities) == ["create user", f"link to {ISSUER}"]
    assert {each.actor for each in identities.decisions.find()} == {"bob"}


def test_a_user_that_an_administrator_created_is_taken_once(identities, stored):
    identities.create_user("bob", by=BY)
    assert enter(stored, bob(), may_create=False) == "bob"
    with pytest.raises(ForbiddenError, match="belongs to another account"):
        enter(stored, bob(subject="2"))
    assert enter(stored, bob(name="a new name")) == "bob", "a person is known by the subject"


def test_accounts_of_two_providers_can_be_one_user(identities, stored):
    assert enter(stored, bob()) == "bob"
    assert enter(stored, bob(issuer="https://other.example", subject="7"), may_create=False) == "bob"


def test_a_disabled_user_and_a_bad_name_are_refused(identities, stored):
    enter(stored, bob())
    identities.put_disabled("bob", disabled=True, by=BY)
    with pytest.raises(ForbiddenError, match="disabled"):
        enter(stored, bob())
    with pytest.raises(BadInputError):
        enter(stored, bob(subject="3", name="../x"))
    identities.create_user("eve", by=BY)
    identities.put_disabled("eve", disabled=True, by=BY)
    with pytest.raises(ForbiddenError, match="disabled"):
        enter(stored, bob(subject="4", name="eve"))


def test_a_sign_in_that_is_refused_changes_nothing(identities, stored):
    identities.create_user("eve", by=BY)
    identities.put_disabled("eve", disabled=True, by=BY)
    before = actions(identities)
    with pytest.raises(ForbiddenError):
        enter(stored, bob(name="eve", groups={"team": True}))
    assert (identities.user("eve").groups, actions(identities)) == ((), before)


def test_groups_of_the_provider_are_joined_and_left_and_others_stay(identities, stored):
    enter(stored, bob(groups={"team": True, "guests": False}))
    identities.put_in_group("bob", "by-hand", inside=True, by=BY)
    assert identities.user("bob").groups == ("by-hand", "team")
    before = len(actions(identities))
    enter(stored, bob(groups={"team": True, "guests": False}))
    assert len(actions(identities)) == before, "nothing changed"
    enter(stored, bob(groups={"team": False, "guests": True}))
    assert identities.user("bob").groups == ("by-hand", "guests")
    assert set(actions(identities)[before:]) == {"leave group team", "join group guests"}


def test_one_person_who_signs_in_twice_at_once_gets_one_user(identities, stored):
    for number in range(5):
        person = bob(subject=f"s{number}", name=f"user{number}", groups={"team": True})
        with ThreadPoolExecutor(4) as pool:
            assert set(pool.map(lambda _, person=person: enter(stored, person), range(4))) == {person.name}
    assert len(identities.users()) == 5
