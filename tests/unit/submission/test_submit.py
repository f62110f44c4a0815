"""Descriptors become runs, or nothing does."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anubis.contracts.engine import Capabilities, Mounting
from anubis.model.descriptor import Data, Descriptor, Env, Info, Isolate, Measure, Ml, Notify
from anubis.model.errors import BadInputError
from anubis.model.hardware import Hardware, Strategy
from anubis.model.identity import digest
from anubis.model.server import DataSource
from anubis.model.status import Status
from anubis.submission import submit as submit_module
from anubis.submission.refusals import checked_here, only_recorded, refusals
from anubis.submission.submit import Submission, runs_of
from support.servers import SERVER

MOUNTING = Mounting(agent=("agent",), records="/records", scripts="/scripts")


class Local:
    name = "process"
    capabilities = Capabilities(strategies=frozenset({Strategy.SINGLE_NODE}), mounting=MOUNTING)


class Containers:
    name = "container"
    capabilities = Capabilities(
        strategies=frozenset({Strategy.SINGLE_NODE, Strategy.INFERENCE}),
        mounting=Mounting(agent=("agent",), inside="/anubis"),
        images=True,
        image_required=True,
    )


class Noon:
    def now_s(self):
        return 43_200.0


PLAIN = Descriptor(
    info=Info(name="bench"), hardware=Hardware(instance_type="local"), ml=Ml(benchmark_code="python train.py")
)


IN_CONTAINER = replace(PLAIN, info=replace(PLAIN.info, execution_engine="container"))


class Broken:
    name = "broken"
    capabilities = replace(Local.capabilities, missing="install its program")


def submit(*descriptors, **options):
    submissions = [Submission(descriptor=d, text="text", cell={"n": n}) for n, d in enumerate(descriptors)]
    return runs_of(
        submissions,
        engines={"process": Local(), "container": Containers(), "broken": Broken()},
        notifiers={"slack": object()},
        sources={"https": object(), "s3": object()},
        default_engine="process",
        owner="me",
        clock=Noon(),
        **options,
    )


def test_a_descriptor_becomes_a_run_on_the_default_engine():
    [(run, text)], [event] = submit(PLAIN)

    assert (run.engine, run.status, run.owner, run.family_id, run.created_s, text) == (
        "process",
        Status.PLACE,
        "me",
        None,
        43_200.0,
        "text",
    )
    assert run.descriptor.info.execution_engine == "process"
    assert (event.kind, event.run_id, event.actor) == ("submitted", run.id, "me")


def test_several_runs_are_a_family_with_increasing_ids():
    stored, _ = submit(PLAIN, PLAIN, rounds=3)
    runs = [run for run, _ in stored]

    assert len({run.family_id for run in runs}) == 1
    assert runs[0].family_id is not None
    assert [run.id for run in runs] == sorted(run.id for run in runs)


@given(rounds=st.integers(1, 9), sides=st.integers(1, 4))
def test_rounds_alternate_so_that_drift_treats_all_sides_alike(rounds, sides):
    _, events = submit(*[PLAIN] * sides, rounds=rounds)
    order = [event.data.get("cell", {}).get("n") for event in events]

    for number in range(rounds):
        expected = list(range(sides)) if number % 2 == 0 else list(reversed(range(sides)))
        assert order[number * sides : (number + 1) * sides] == expected


@pytest.mark.parametrize(
    ("changed", "path"),
    [
        (replace(PLAIN, info=replace(PLAIN.info, execution_engine="moon")), "info.execution_engine"),
        (replace(PLAIN, info=replace(PLAIN.info, scheduling="@daily")), "info.scheduling"),
        (replace(PLAIN, hardware=replace(PLAIN.hardware, strategy=Strategy.HOROVOD)), "hardware.strategy"),
        (replace(PLAIN, hardware=replace(PLAIN.hardware, max_cost="25 USD")), "hardware.max_cost"),
        (replace(PLAIN, env=Env(privileged=True)), "env.privileged"),
        (replace(IN_CONTAINER, env=Env(docker_image="user/image", privileged=True)), "env.privileged"),
        (replace(PLAIN, info=replace(PLAIN.info, execution_engine="broken")), "info.execution_engine"),
        (replace(PLAIN, measure=Measure(isolate=Isolate.PLACE)), "measure.isolate"),
        (replace(PLAIN, ml=Ml()), "ml.benchmark_code"),
        (IN_CONTAINER, "env.docker_image"),
        (replace(PLAIN, notify=(Notify(to="slak:#perf"),)), "notify[0].to"),
        (replace(PLAIN, data=Data(sources=(DataSource(src="s3://b/k", path="/data"),))), "data.sources"),
    ],
)
def test_what_this_installation_cannot_do_is_refused_and_named(changed, path):
    with pytest.raises(BadInputError) as error:
        submit(PLAIN, changed)

    assert [problem.path for problem in error.value.problems] == [path]
    assert all(problem.remedy for problem in error.value.problems)


def test_everything_that_is_refused_is_named_at_once():
    several = replace(
        PLAIN,
        info=replace(PLAIN.info, scheduling="@daily", execution_engine="process"),
        env=Env(privileged=True),
    )

    assert len(refusals(several, {"process": Local()}, {}, {})) == 2


def test_what_the_engine_does_not_act_on_is_said():
    asked = replace(PLAIN, env=Env(docker_image="user/image"), hardware=Hardware(instance_type="p3.8xlarge"))

    said = list(only_recorded(asked, Local()))

    assert [(problem.path, problem.severity) for problem in said] == [
        ("env.docker_image", "warning"),
        ("hardware.instance_type", "warning"),
    ]
    assert list(only_recorded(PLAIN, Local())) == []


ENGINES = {"process": Local(), "container": Containers()}


def named(engine, **changes):
    return replace(PLAIN, info=replace(PLAIN.info, execution_engine=engine), **changes)


@pytest.mark.parametrize(
    ("descriptor", "expected"),
    [
        (PLAIN, []),
        (named("process"), []),
        (named("container"), [("env.docker_image", "error")]),
        (named("container", env=Env(docker_image="image")), []),
        (named("kubernetes"), [("info.execution_engine", "warning")]),
        (
            named("process", hardware=Hardware(instance_type="local", strategy=Strategy.MPI)),
            [("hardware.strategy", "error")],
        ),
        (
            replace(PLAIN, hardware=Hardware(instance_type="local", strategy=Strategy.MPI)),
            [("hardware.strategy", "warning")],
        ),
        (replace(PLAIN, notify=(Notify(to="https://h"),)), [("notify[0].to", "warning")]),
        (replace(PLAIN, info=replace(PLAIN.info, scheduling="@daily")), []),
    ],
)
def test_before_submit_only_what_the_named_engine_cannot_do_is_an_error(descriptor, expected):
    found = checked_here(descriptor, ENGINES, {"slack": object()}, {}, "process")
    assert [(problem.path, problem.severity) for problem in found] == expected


def test_an_address_is_not_shown():
    (problem,) = refusals(
        named("process", notify=(Notify(to="hook:SECRET"),)), ENGINES, {"slack": object()}, {}
    )
    assert "SECRET" not in str(problem)
    assert "`hook:`" in problem.message


def test_data_that_no_source_reads_are_refused():
    data = Data(sources=(DataSource(src="gopher://h/x", path="/x"), DataSource(src="S3://h/x", path="/y")))
    sources = {"https": object(), "s3": object()}
    found = refusals(replace(named("process"), data=data), ENGINES, {}, sources)
    (problem,) = [each for each in found if each.path.startswith("data.sources[")]
    assert problem.path == "data.sources[0].src"
    assert problem.message == "no installed source reads `gopher:`"
    assert problem.remedy == "use one of: https, s3"
    later = checked_here(replace(PLAIN, data=data), ENGINES, {}, sources, "process")
    assert [(each.path, each.severity) for each in later if "[" in each.path] == [(problem.path, "warning")]


def test_every_role_needs_what_the_engine_needs():
    hardware = Hardware(instance_type="local", strategy=Strategy.INFERENCE)
    env = replace(SERVER.env, privileged=True, start_command="", start_command_args="")
    asked = replace(PLAIN, hardware=hardware, server=replace(SERVER, env=env))
    paths = [problem.path for problem in refusals(asked, {"default": Local()}, {}, {})]
    assert paths == ["hardware.strategy", "server.env.privileged", "server.env.start_command"]


def test_an_object_that_is_submitted_again_gets_the_engine_of_each_submission():
    options = {
        "engines": {"process": Local(), "container": without_required_image(Containers())},
        "notifiers": {},
        "sources": {},
        "owner": "me",
        "clock": Noon(),
    }
    found = [
        runs_of([Submission(descriptor=PLAIN, text="text")], default_engine=engine, **options)[0][0][0]
        for engine in ("process", "container", "process")
    ]
    assert [run.engine for run in found] == ["process", "container", "process"]
    assert [run.descriptor.info.execution_engine for run in found] == ["process", "container", "process"]
    assert found[0].digest == found[2].digest != found[1].digest
    assert len({run.id for run in found}) == 3


def without_required_image(engine):
    """The engine, for which a descriptor needs no image."""
    engine.capabilities = replace(engine.capabilities, image_required=False)
    return engine


def test_what_is_kept_of_descriptors_is_bounded_and_that_of_the_same_object():
    for number in range(1000):
        descriptor = replace(PLAIN, info=replace(PLAIN.info, name=f"bench-{number}"))
        ((run, _),), _ = runs_of(
            [Submission(descriptor=descriptor, text="text")],
            engines={"process": Local()},
            notifiers={},
            sources={},
            default_engine="process",
            owner="me",
            clock=Noon(),
        )
        assert run.descriptor.info.name == f"bench-{number}"
        assert run.digest == digest(run.descriptor)
        del descriptor, run  # its id may be that of the next one
    assert len(submit_module._prepared) <= submit_module._MOST_KEPT
