"""Environments in private files of the home folder."""

import os
import stat

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from anubis.contracts.environments import SubmittedEnvironment
from anubis.model.cause import Cause
from anubis.model.descriptor import Env
from anubis.model.errors import BadInputError, StageError, StoreError
from anubis.model.server import Server, ServerEnv, ServerHardware
from anubis.settings import Settings
from anubis.submission.environment.handover import HomeEnvironments, inherited
from anubis.testing import a_descriptor, a_run

RUN = a_run().id
#: Names and values as the system allows them: not only UTF-8.
TEXT = st.binary(max_size=20).map(lambda data: os.fsdecode(data.replace(b"\0", b"")))


@pytest.fixture
def environments(tmp_path):
    def make(**environ):
        return HomeEnvironments(Settings.from_env({"ANUBIS_HOME": str(tmp_path), **environ}), environ)

    return make


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(variables=st.dictionaries(TEXT, TEXT), secrets=st.dictionaries(TEXT, TEXT))
def test_what_is_handed_over_arrives(environments, variables, secrets):
    environment = SubmittedEnvironment(variables=variables, secrets=secrets)
    environments().hand_over([RUN], environment)
    assert environments().handed_over(RUN) == environment


def test_only_the_user_can_read_it(environments, tmp_path):
    before = os.umask(0)
    try:
        environments().hand_over([RUN], SubmittedEnvironment())
        environments().digest("")
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.rglob("*")}
    assert modes == {"environments": 0o700, f"{RUN}.json": 0o600, "environment.key": 0o600}


def test_it_is_removed(environments):
    environments().hand_over([RUN], SubmittedEnvironment())
    environments().remove([RUN, "unknown"])
    assert environments().handed_over(RUN) is None


def test_it_is_not_shown():
    shown = repr(SubmittedEnvironment(variables={"A": "value-1"}, secrets={"B": "value-2"}))
    assert "value" not in shown


@pytest.mark.parametrize(
    "content", ["", "{", "[]", "{}", '{"variables": {"A": 1}, "secrets": {}}', "[" * 100_000]
)
def test_a_damaged_file_fails_the_run(environments, tmp_path, content):
    environments().hand_over([RUN], SubmittedEnvironment())
    (tmp_path / "environments" / f"{RUN}.json").write_text(content)
    with pytest.raises(StageError) as caught:
        environments().handed_over(RUN)
    assert caught.value.cause is Cause.INTERNAL


def test_nothing_is_left_if_not_all_can_be_handed_over(environments, tmp_path):
    (tmp_path / "environments").mkdir()
    (tmp_path / "environments" / f"{RUN}.json").mkdir()
    other = a_run().id
    with pytest.raises(StoreError):
        environments().hand_over([other, RUN], SubmittedEnvironment())
    assert [path.name for path in (tmp_path / "environments").iterdir()] == [f"{RUN}.json"]


def test_digests_have_a_key_that_stays(environments, tmp_path):
    digest = environments().digest("low entropy")
    assert environments().digest("low entropy") == digest
    assert environments().digest("other") != digest
    (tmp_path / "environment.key").unlink()
    assert environments().digest("low entropy") != digest


def test_a_key_that_cannot_be_read_is_reported(environments, tmp_path):
    (tmp_path / "environment.key").mkdir()
    with pytest.raises(StoreError):
        environments().digest("")


def test_a_list_of_allowed_names_limits_everything():
    environ = {"PATH": "/bin", "LC_ALL": "C", "A_TOKEN": "t", "ANUBIS_HOME": "/h", "OTHER": "1"}
    assert inherited(environ, ("*",), ()) == {"PATH": "/bin", "LC_ALL": "C", "OTHER": "1"}
    assert inherited(environ, ("*",), ("A_TOKEN", "ANUBIS_HOME", "UNSET")) == environ
    assert inherited(environ, ("PATH", "LC_*"), ()) == {"PATH": "/bin", "LC_ALL": "C"}
    assert inherited(environ, ("PATH", "A_TOKEN"), ()) == {"PATH": "/bin"}
    assert inherited(environ, ("PATH", "A_TOKEN"), ("A_TOKEN",)) == {"PATH": "/bin", "A_TOKEN": "t"}


def test_secrets_of_the_server_are_provided_too(environments):
    server = Server(
        hardware=ServerHardware(instance_type="local"),
        env=ServerEnv(
            docker_image="i", ports=(1,), start_command="s", start_command_args="", vars={"B": "secret:TWO"}
        ),
    )
    descriptor = a_descriptor(env=Env(vars={"A": "secret:ONE", "C": "plain"}), server=server)
    with pytest.raises(BadInputError) as caught:
        environments().current(descriptor, "default")
    assert [problem.path for problem in caught.value.problems] == ["env.vars.A", "server.env.vars.B"]
    set_here = environments(ANUBIS_SECRET_ONE="value one", ANUBIS_SECRET_TWO="value two")
    current = set_here.current(descriptor, "default")
    assert current.secrets == {"ONE": "value one", "TWO": "value two"}
    assert current.variables == {}


def test_runs_with_the_same_environment_share_a_file_until_it_is_gone(environments, tmp_path):
    home, same = environments(), SubmittedEnvironment(variables={"A": "1"})
    ids = [a_run().id for _ in range(5)]
    files = [tmp_path / "environments" / f"{run_id}.json" for run_id in ids]
    home.hand_over(ids[:1], same)
    home.hand_over(ids[1:2], same)
    assert files[0].samefile(files[1])
    home.remove(ids[:2])
    home.hand_over(ids[2:3], same)
    home.hand_over(ids[3:4], SubmittedEnvironment(variables={"A": "2"}))
    home.hand_over(ids[4:], same)
    assert [home.handed_over(run_id) and home.handed_over(run_id).variables["A"] for run_id in ids] == [
        None, None, "1", "2", "1"
    ]  # fmt: skip


def test_files_are_written_where_links_are_not_possible(environments, monkeypatch):
    def refused(file, name):
        raise PermissionError

    monkeypatch.setattr(os, "link", refused)
    home, ids = environments(), [a_run().id for _ in range(3)]
    home.hand_over(ids[:2], SubmittedEnvironment(variables={"A": "1"}))
    home.hand_over(ids[2:], SubmittedEnvironment(variables={"A": "1"}))
    assert [home.handed_over(run_id).variables for run_id in ids] == [{"A": "1"}] * 3
