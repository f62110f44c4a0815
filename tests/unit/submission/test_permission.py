"""What a project permits: every use has one problem, and no more than what was asked for is refused."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anubis.contracts.engine import Capabilities, Mounting
from anubis.contracts.service.projects import Permission
from anubis.model.access.permits import changed, permits
from anubis.model.access.roles import EVERYTHING, FLAGS, OF_NEW_PROJECTS, Project, Quota
from anubis.model.descriptor import Data, Descriptor, Env, Info, Limits, Ml
from anubis.model.errors import BadInputError
from anubis.model.hardware import Hardware, Strategy
from anubis.model.server import DataSource
from anubis.submission.permission import not_permitted
from support.servers import SERVER

MOUNTING = Mounting(agent=("agent",), records="/records", scripts="/scripts")
CAN = Capabilities(strategies=frozenset({Strategy.SINGLE_NODE}), mounting=MOUNTING, images=True)
PLAIN = Descriptor(
    info=Info(name="bench"), hardware=Hardware(instance_type="local"), ml=Ml(benchmark_code="python train.py")
)
#: What needs a permission -> descriptors that use it.
USES = {
    "privileged": replace(PLAIN, env=Env(privileged=True)),
    "host-files": replace(PLAIN, data=Data(sources=(DataSource(src="FILE:///etc", path="/data"),))),
    "secrets": replace(PLAIN, env=Env(vars={"KEY": "secret:theirs"})),
    "image:example.org/*": replace(PLAIN, env=Env(docker_image="example.org/image:1")),
}


class Engine:
    def __init__(self, name="container", *, encloses=True):
        self.name, self.capabilities = name, replace(CAN, encloses=encloses)


def found(descriptor, permitted, *, engine=None, own=(), quota=None):
    project = Project(name="team", created_s=0.0, permits=tuple(permitted), quota=quota or Quota())
    permission = Permission(project=project, own_secrets=frozenset(own))
    return list(not_permitted(descriptor, engine or Engine(), permission))


@pytest.mark.parametrize("name", USES)
def test_a_use_without_its_permission_is_refused_with_the_command_that_permits_it(name):
    permitted = [each for each in (*FLAGS, "engine:*", "image:else/*") if each != name]
    (problem,) = found(USES[name], permitted)
    assert "'team'" in problem.message
    assert "anubis project permit team" in problem.remedy or "anubis secret set theirs" in problem.remedy
    assert found(USES[name], [*permitted, name]) == []


def test_what_the_new_project_permits():
    assert found(PLAIN, OF_NEW_PROJECTS) == []
    assert found(PLAIN, OF_NEW_PROJECTS, engine=Engine("process")) == []
    (problem,) = found(PLAIN, OF_NEW_PROJECTS, engine=Engine("process", encloses=False))
    assert "unsandboxed" in problem.remedy
    assert len(found(PLAIN, OF_NEW_PROJECTS, engine=Engine("slurm", encloses=False))) == 2


def test_everything_is_refused_at_once():
    server = replace(SERVER.env, privileged=True, vars={"A": "secret:a1"}, docker_image="server")
    both = replace(
        PLAIN,
        env=Env(
            privileged=True, vars={"B": "secret:b1"}, inherit=("MY_TOKEN", "PLAIN"), docker_image="client"
        ),
        server=replace(SERVER, env=server),
        data=USES["host-files"].data,
    )
    paths = [problem.path for problem in found(both, [], engine=Engine("process", encloses=False))]
    assert paths == [
        "info.execution_engine", "info.execution_engine", "env.privileged", "env.docker_image", "server.env.privileged",
        "server.env.docker_image", "data.sources[0].src", "env.vars.B", "server.env.vars.A", "env.inherit",
    ]  # fmt: skip


def test_a_project_may_use_its_own_secrets():
    assert found(USES["secrets"], OF_NEW_PROJECTS, own=["theirs"]) == []


def test_the_run_time_is_limited_whatever_is_permitted():
    quota = Quota(run_s=60)
    (problem,) = found(PLAIN, EVERYTHING, quota=quota)
    assert (problem.path, "60" in problem.remedy) == ("limits.run_timeout_s", True)
    assert len(found(replace(PLAIN, limits=Limits(run_timeout_s=61.0)), EVERYTHING, quota=quota)) == 1
    assert found(replace(PLAIN, limits=Limits(run_timeout_s=60.0)), EVERYTHING, quota=quota) == []


NAMES = st.sampled_from([*FLAGS, "engine:*", "engine:process", "engine:slurm", "image:a/*", "image:*"])


@given(before=st.sets(NAMES), permit=st.sets(NAMES), forbid=st.sets(NAMES))
def test_a_change_does_what_it_says_or_nothing(before, permit, forbid):
    try:
        after = changed(tuple(before), permit=tuple(permit), forbid=tuple(forbid))
    except BadInputError:
        return
    assert set(after) == (before | permit) - forbid
    assert len(after) == len(set(after))
    for name in forbid:
        kind, _, value = name.partition(":")
        assert not permits(tuple(before), kind, value) or name in before
        assert set(after) & permit == permit


@pytest.mark.parametrize(
    "name", ["", "root", "engine:", "engine", "image: ", "network:x", "image:" + "a" * 200]
)
def test_other_names_are_refused_together(name):
    with pytest.raises(BadInputError) as caught:
        changed((), permit=(name, "sudo"))
    assert [problem.path for problem in caught.value.problems] == [name, "sudo"]
