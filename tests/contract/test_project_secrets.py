"""Secrets of projects in each database: nobody reads them without the key, and no key is replaced by mistake."""

import base64
import os
import stat
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from anubis.model.access.roles import Decision
from anubis.model.descriptor import Env
from anubis.model.errors import AnubisError, BadInputError, ConflictError, NotFoundError
from anubis.settings import Settings
from anubis.store import open_store
from anubis.submission.environment.handover import HomeEnvironments
from anubis.submission.environment.project_secrets import LONGEST, ProjectSecrets
from anubis.testing import a_descriptor
from anubis.testing.builders import NOW_S

BY = Decision(time_s=NOW_S, last_s=NOW_S, actor="ann", action="", allowed=True)
VALUE = "correct horse battery staple"


@pytest.fixture
def store(database_url):
    opened = open_store(database_url)
    for name in ("one", "two"):
        opened.identities.create_project(name, by=BY)
    yield opened
    opened.close()


@pytest.fixture
def key(tmp_path):
    return tmp_path / "secrets.key"


@pytest.fixture
def secrets(store, key):
    return ProjectSecrets(store.projects, key)


def test_a_secret_belongs_to_one_project(secrets):
    secrets.put("one", "TOKEN", VALUE, by=BY)
    assert secrets.value("one", "TOKEN") == VALUE
    assert secrets.value("two", "TOKEN") is None
    (found,) = secrets.find("one")
    assert (found.name, found.changed_s, found.actor) == ("TOKEN", NOW_S, "ann")
    assert secrets.find("two") == []
    secrets.put("two", "TOKEN", "another value", by=BY)
    secrets.put("one", "TOKEN", "a newer value", by=BY)
    assert [secrets.value(name, "TOKEN") for name in ("one", "two")] == ["a newer value", "another value"]
    secrets.remove("one", "TOKEN", by=BY)
    assert secrets.value("one", "TOKEN") is None
    for call in (
        lambda: secrets.remove("one", "TOKEN", by=BY),
        lambda: secrets.find("nobody"),
        lambda: secrets.put("nobody", "TOKEN", VALUE, by=BY),
        lambda: secrets.remove("nobody", "TOKEN", by=BY),
    ):
        with pytest.raises(NotFoundError):
            call()


def test_the_database_and_the_list_of_decisions_do_not_contain_the_value(secrets, store, key):
    secrets.put("one", "TOKEN", VALUE, by=BY)
    sealed = store.projects.sealed("one", "TOKEN")
    secrets.put("one", "TOKEN", VALUE, by=BY)
    assert store.projects.sealed("one", "TOKEN").content != sealed.content
    assert VALUE.encode() not in sealed.content
    assert VALUE not in f"{sealed} {store.identities.decisions.find()}"
    assert bytes.fromhex(key.read_text()).hex()[:16] != sealed.key


def test_the_key_is_made_once_for_the_owner_only(secrets, key):
    before = os.umask(0)
    try:
        secrets.put("one", "TOKEN", VALUE, by=BY)
    finally:
        os.umask(before)
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    content = key.read_text()
    secrets.put("two", "OTHER", VALUE, by=BY)
    assert key.read_text() == content
    assert [path.name for path in key.parent.glob("*.key*")] == ["secrets.key"]


def test_a_value_in_the_row_of_another_secret_is_refused(secrets, store):
    """A person with access to the database cannot move a secret to a project that they may use."""
    secrets.put("one", "TOKEN", VALUE, by=BY)
    for project, name in (("two", "TOKEN"), ("one", "OTHER")):
        store.projects.put_sealed(project, name, store.projects.sealed("one", "TOKEN"), by=BY)
        with pytest.raises(BadInputError, match="damaged"):
            secrets.value(project, name)


@pytest.mark.parametrize("at", [0, 11, 12, -1])
def test_a_changed_value_is_refused(secrets, store, at):
    secrets.put("one", "TOKEN", VALUE, by=BY)
    sealed = store.projects.sealed("one", "TOKEN")
    content = bytearray(sealed.content)
    content[at] ^= 1
    store.projects.put_sealed("one", "TOKEN", type(sealed)(content=bytes(content), key=sealed.key), by=BY)
    with pytest.raises(BadInputError, match="damaged"):
        secrets.value("one", "TOKEN")


def test_without_its_key_nothing_is_decrypted_and_no_other_key_is_used(secrets, store, key, tmp_path):
    secrets.put("one", "TOKEN", VALUE, by=BY)
    key.rename(tmp_path / "kept")
    with pytest.raises(BadInputError, match="does not exist"):
        secrets.value("one", "TOKEN")
    with pytest.raises(BadInputError, match="does not exist"):
        secrets.put("one", "OTHER", VALUE, by=BY)
    assert not key.exists()
    key.write_text(os.urandom(32).hex())
    key.chmod(0o600)
    with pytest.raises(BadInputError, match="another key"):
        secrets.value("one", "TOKEN")
    with pytest.raises(ConflictError, match="encrypted with the key"):
        secrets.put("one", "OTHER", VALUE, by=BY)
    kept = ProjectSecrets(store.projects, tmp_path / "kept")
    assert kept.value("one", "TOKEN") == VALUE


@pytest.mark.parametrize("content", [b"", b"abc", b"\xff" * 64, base64.b64encode(bytes(32)), b"0" * 66])
def test_a_file_that_is_no_key_is_refused(secrets, key, content):
    key.write_bytes(content)
    key.chmod(0o600)
    with pytest.raises(BadInputError, match="is not a key"):
        secrets.put("one", "TOKEN", VALUE, by=BY)
    assert key.read_bytes() == content


def test_a_key_that_others_can_read_is_refused(secrets, key):
    secrets.put("one", "TOKEN", VALUE, by=BY)
    key.chmod(0o640)
    with pytest.raises(BadInputError, match="only its owner") as caught:
        secrets.value("one", "TOKEN")
    assert "chmod 600" in caught.value.remedy


def test_services_that_make_the_first_key_at_once_use_one(database_url, store, key):
    stores = [open_store(database_url) for _ in range(4)]
    start = threading.Barrier(4)

    def put(number):
        start.wait()
        ProjectSecrets(stores[number].projects, key).put("one", f"S{number}", f"{VALUE} {number}", by=BY)

    try:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(put, range(4)))
        found = ProjectSecrets(store.projects, key)
        assert [found.value("one", f"S{number}") for number in range(4)] == [f"{VALUE} {n}" for n in range(4)]
    finally:
        for each in stores:
            each.close()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("", VALUE), ("1A", VALUE), ("a-b", VALUE), ("A" * 101, VALUE), ("A\n", VALUE), ("A", "short"), ("A", f"{VALUE}\0"),
        ("A", "a" * (LONGEST + 1)), ("A", f"{VALUE}\ud800"),
    ],
)  # fmt: skip
def test_what_cannot_be_a_secret_is_refused_without_showing_it(secrets, name, value):
    with pytest.raises(BadInputError) as caught:
        secrets.put("one", name, value, by=BY)
    assert value not in str(caught.value)
    assert secrets.find("one") == []


TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=8, max_size=200)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=20)
@given(value=TEXTS)
def test_every_text_returns_as_it_was(secrets, value):
    secrets.put("one", "TOKEN", value, by=BY)
    assert secrets.value("one", "TOKEN") == value


def test_a_run_gets_the_secret_of_its_project_before_that_of_the_installation(secrets, tmp_path):
    secrets.put("one", "TOKEN", VALUE, by=BY)
    environ = {"ANUBIS_SECRET_TOKEN": "of the installation"}
    given = HomeEnvironments(Settings.from_env({"ANUBIS_HOME": str(tmp_path)}), environ, secrets)
    descriptor = a_descriptor(env=Env(vars={"A": "secret:TOKEN"}))
    assert given.current(descriptor, "one").secrets == {"TOKEN": VALUE}
    assert given.current(descriptor, "two").secrets == {"TOKEN": "of the installation"}
    (tmp_path / "secrets.key").unlink()
    with pytest.raises(AnubisError) as caught:
        given.current(descriptor, "one")
    assert [problem.path for problem in caught.value.problems] == ["env.vars.A"]
