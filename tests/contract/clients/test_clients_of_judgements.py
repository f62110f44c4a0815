"""One contract for every client: series, alerts, sweeps, schedules, datasets and storage."""

import time

import pytest

from anubis.api.series import series_to_json
from anubis.contracts.schedules import CatchUp, DueState
from anubis.contracts.service.triggers import ChangeKind, TriggerKind
from anubis.contracts.sweeps import SweepPhase
from anubis.judging.alert_triage import TriageAction
from anubis.model.alert import AlertState
from anubis.model.errors import BadInputError, ConflictError, NotFoundError
from anubis.model.identity import digest, series_key
from anubis.model.status import Status
from anubis.testing.builders import NOW_S, a_descriptor, a_point, a_run
from anubis.wiring import build

MATRIX = '[matrix]\n"env.vars.X" = ["a", "b", "c"]\n'


def stored_history(settings, name):
    """The runs of a benchmark whose latency doubles, with points, written to the home folder itself."""
    descriptor = a_descriptor(name)
    keys = {"digest": digest(descriptor), "series_key": series_key(descriptor)}
    runs = [
        a_run(descriptor, status=Status.SUCCEEDED, created_s=NOW_S + at, ended_s=NOW_S + at + 1, **keys)
        for at in range(40)
    ]
    points = [
        a_point(
            run,
            value=(1 if at < 20 else 2) + at % 3 / 100,
            order_s=run.created_s,
            better="lower",
            subject=f"c{at}",
        )
        for at, run in enumerate(runs)
    ]
    installation = build(settings)
    installation.world.runs.add_finished([(run, "text") for run in runs], points)
    installation.close()
    return runs


@pytest.fixture(scope="module")
def history(client, settings, kind):
    return stored_history(settings, f"history-{kind}")


def test_series_are_judged(client, embedded, history):
    name = history[0].descriptor.info.name
    (series,) = client.series.find(benchmark=name)
    assert [point.run_id for point in series.points] == [run.id for run in history]
    (change,) = series.verdict.changes
    assert change.index == 20
    assert list(map(series_to_json, [series])) == list(
        map(series_to_json, embedded.series.find(benchmark=name))
    )
    assert len(client.series.find(benchmark=name, newest=10)[0].points) == 10
    assert client.series.find(benchmark=name, metric="none") == []


def test_alerts_are_found_and_decided(client, embedded, history):
    name = history[0].descriptor.info.name
    changed = client.series.analyse(benchmark=name)
    assert [alert.benchmark for alert in changed] == [name]
    (alert,) = client.alerts.find(benchmark=name)
    assert client.alerts.find(benchmark=name, states=[AlertState.RESOLVED]) == []
    assert client.alerts.get(alert.id[:12]) == embedded.alerts.get(alert.id)
    assert client.alerts.deliveries(alert.id) == []
    decided = client.alerts.decide(alert.id, TriageAction.ACK, why="it is known")
    assert decided.state is AlertState.ACKNOWLEDGED
    found, events = client.alerts.get(alert.id)
    assert (found, events[-1].actor) == (decided, "me")
    assert "it is known" in events[-1].message
    with pytest.raises(NotFoundError):
        client.alerts.get("none")
    with pytest.raises(BadInputError):
        client.alerts.decide(alert.id, TriageAction.MUTE, why="", until_s=1.0)


def test_a_sweep_is_planned_and_run(client, embedded, bench):
    file = bench("sh -c 'echo score=1; test $X != b'", more=MATRIX)
    planned = client.sweeps.plan(file, stores_script=False, max_parallel=2)
    assert planned.owner == "me"
    assert planned.descriptor.sweep.max_parallel == 2
    cells = client.sweeps.cells(planned)
    assert [cell.values for cell in cells] == [{"env.vars.X": value} for value in "abc"]
    assert [cell.digest for cell in cells] == list(planned.cells)
    started = client.sweeps.start(planned)
    assert started.cells == planned.cells
    states = []
    state = client.sweeps.wait(started.id, states.append)
    assert states
    assert state.sweep.phase is SweepPhase.ENDED
    assert [state.runs[at].status.value for at in range(3)] == ["succeeded", "failed", "succeeded"]
    assert state == embedded.sweeps.state(started.id)
    assert client.sweeps.get(state.runs[0].id) == client.sweeps.get("@last") == client.sweeps.find()[0]
    with pytest.raises(BadInputError):
        client.sweeps.retry(started.id, ["node_lost"])
    retried, count = client.sweeps.retry(started.id, [state.runs[1].cause])
    assert (count, retried.phase) == (1, SweepPhase.RUNNING)
    cancelled = client.sweeps.cancel(started.id, why="enough")
    assert cancelled.phase is SweepPhase.CANCELLED
    with pytest.raises(NotFoundError):
        client.sweeps.get("none")


def test_a_sweep_is_paused_and_resumed(client, bench):
    started = client.sweeps.start(client.sweeps.plan(bench(more=MATRIX), overrides={"measure.repeats": "1"}))
    paused = client.sweeps.pause(started.id, why="wait")
    assert paused.phase in {SweepPhase.PAUSED, SweepPhase.ENDED}
    client.sweeps.resume(started.id)
    assert client.sweeps.wait(started.id).sweep.phase is SweepPhase.ENDED


def test_one_run_is_not_a_sweep(client, bench):
    with pytest.raises(BadInputError, match="not a sweep"):
        client.sweeps.plan(bench())


def test_a_schedule_is_kept(client, embedded, bench):
    file = bench(info='scheduling = "0 3 * * *"')
    added = client.schedules.add(file, name=f"nightly-{file.stem}", catch_up=CatchUp.ALL, catch_up_limit=3)
    schedule = added.schedule
    assert (added.before, schedule.owner, schedule.file) == (None, "me", str(file))
    assert (schedule.catch_up, schedule.catch_up_limit) == (CatchUp.ALL, 3)
    again = client.schedules.add(file, name=schedule.name, jitter_s=5.0)
    assert again.before.id == again.schedule.id == schedule.id
    assert set(again.changes) == {"catch_up", "catch_up_limit", "jitter_s"}
    assert client.schedules.text(schedule.name) == file.read_text()
    assert schedule.name in [each.name for each in client.schedules.find()]
    assert client.schedules.pause(schedule.id, why="summer").pause_reason == "summer"
    assert client.schedules.resume(schedule.name).paused_s is None
    (run,) = client.schedules.trigger(schedule.name)
    assert client.runs.wait([run.id])[0].status is Status.SUCCEEDED
    (due,) = client.schedules.due_times(schedule.name)
    assert (due.state, due.run_id, due.reason) == (DueState.STARTED, run.id, "triggered by me")
    assert client.schedules.get(schedule.name).name == embedded.schedules.get(schedule.id).name
    assert client.schedules.remove(schedule.name).id == schedule.id
    with pytest.raises(NotFoundError):
        client.schedules.get(schedule.name)
    with pytest.raises(BadInputError):
        client.schedules.add(bench())


def test_datasets_are_listed_verified_and_deleted(client, embedded, bench, tmp_path):
    (tmp_path / "data.txt").write_text("1 2 3\n")
    file = bench(
        f"sh -c 'cat {tmp_path}/data/copy; echo score=1'",
        more=f'[[data.sources]]\nsrc = "file://{tmp_path}/data.txt"\npath = "{tmp_path}/data/copy"\n',
    )
    (run,) = client.runs.wait([run.id for run in client.runs.submit([file])])
    assert run.status is Status.SUCCEEDED, run.reason
    (dataset,) = [each for each in client.datasets.find() if str(tmp_path) in each.src]
    assert dataset.dataset == client.datasets.get(dataset.dataset.digest).dataset
    assert client.datasets.verify(dataset.src) == []
    assert dataset.dataset in [
        each.dataset for each in client.datasets.prune(before_s=time.time(), dry_run=True)
    ]
    client.datasets.prune(before_s=time.time())
    with pytest.raises(NotFoundError):
        client.datasets.get(dataset.src)


def test_space_is_freed(client, settings, bench):
    (run,) = client.runs.wait([run.id for run in client.runs.submit([bench("seq 1 9999")])])
    stray = settings.home / "objects" / f"{'0' * 64}.tar"
    stray.parent.mkdir(exist_ok=True)
    stray.write_text("left")
    assert stray in [each.path for each in client.storage.collect(before_s=time.time() + 1, dry_run=True)]
    assert stray.exists()
    client.storage.collect(before_s=time.time() + 1)
    assert not stray.exists()
    assert client.storage.pack(before_s=time.time() + 1)
    assert client.records.files(run).read("stdout", 0, 4) == b"1\n2\n"


def test_triggers_are_created_shown_and_deleted(client, embedded, bench, kind):
    name = f"trigger-{kind}"
    given = {"kind": TriggerKind.GITHUB, "secret": "hook", "changes": [ChangeKind.PUSH, ChangeKind.TAG]}
    with pytest.raises(BadInputError, match="there is no secret unknown"):
        client.triggers.create(name, [bench()], **{**given, "secret": "unknown"})
    created = client.triggers.create(
        name, [bench()], patterns=["v*"], overrides={"measure.repeats": "2"}, **given
    )
    assert created == client.triggers.get(name) == embedded.triggers.get(name)
    assert (created.owner, created.patterns, created.overrides) == ("me", ("v*",), {"measure.repeats": "2"})
    assert created in client.triggers.find()
    assert client.triggers.deliveries(name) == []
    with pytest.raises(ConflictError):
        client.triggers.create(name, [bench()], **given)
    with pytest.raises(BadInputError):
        client.triggers.create("other", [bench(info="nonsense = 1")], **given)
    assert client.triggers.remove(name) == created
    with pytest.raises(NotFoundError):
        client.triggers.get(name)
