"""One contract for every client: runs, their values and their records."""

import io
import json
import threading
from dataclasses import replace

import pytest

from anubis.client.protocol.runs import SubmitRequest
from anubis.client.remote import runs as remote_runs
from anubis.contracts.runs import RunQuery
from anubis.describe.drafting import DescriptorText
from anubis.model.errors import AnubisError, BadInputError, NotFoundError
from anubis.model.status import Status
from anubis.record.reading import Record
from anubis.sealing.chain import Head
from anubis.search.query import LogQuery
from support.git import git
from support.processes import until

MATRIX = '[matrix]\n"env.vars.X" = ["a", "b"]\n'


def ended(client, *files, **options):
    """The runs of these files, after their end."""
    return client.runs.wait([run.id for run in client.runs.submit(files, **options)])


def test_a_run_is_measured(client, bench):
    changes = []
    (run,) = client.runs.submit([bench()])
    assert (run.owner, run.status.final) == ("me", False)
    (after,) = client.runs.wait([run.id], changes.append)
    assert after.status is Status.SUCCEEDED
    assert changes[-1] == after
    (event, *others) = client.runs.events(run.id)
    assert (event.kind, event.actor) == ("submitted", "me")
    assert client.runs.events(run.id, after_seq=event.seq) == others
    (point,) = [point for point in client.results.points([run.id]) if point.metric == "score"]
    assert (point.value, point.units) == (1.5, "1/s")
    assert [each.mean for each in client.results.summaries(run.id) if each.metric == "score"] == [1.5]
    assert list(client.results.samples(run.id, "score").values) == [1.5]
    assert client.runs.names().benchmarks.count(run.descriptor.info.name) == 1


def test_a_family_is_measured_in_order(client, bench):
    first, second = bench(more=MATRIX), bench(more=MATRIX)
    runs = ended(client, first, second, rounds=2)
    assert [run.cell["file"] for run in runs] == [
        file.name for file in 2 * [first] + 4 * [second] + 2 * [first]
    ]
    assert [run.cell["round"] for run in runs] == [0] * 4 + [1] * 4
    assert [row.id for row in client.runs.family(runs[3].id)] == [run.id for run in runs]
    short = client.runs.short_ids([run.id for run in runs])
    assert {run_id: client.runs.get(name).id for run_id, name in short.items()} == {
        run.id: run.id for run in runs
    }


def test_a_text_is_measured_with_overrides(client, bench, tmp_path):
    text = DescriptorText(
        text=bench("sh -c 'pwd; echo score=$X'").read_text(), folder=tmp_path, name="a text"
    )
    (run,) = ended(client, text, overrides={"env.vars.X": "7"})
    assert run.overrides == {"env.vars.X": "7"}
    assert client.runs.text(run.id) == text.text
    record = client.records.files(run)
    assert record.read("stdout", 0, 1000) == f"{tmp_path}\nscore=7\n".encode()


def test_all_problems_are_reported_at_their_places(client, bench):
    file = bench(more="[measure]\nrepeats = 0\nwarmups = -1")
    with pytest.raises(BadInputError) as caught:
        client.runs.submit([file])
    assert caught.value.file == str(file)
    assert [(each.path, bool(each.line)) for each in caught.value.problems] == [
        ("measure.repeats", True),
        ("measure.warmups", True),
    ]


def test_a_refusal_of_the_engine_is_reported(client, bench):
    with pytest.raises(BadInputError, match="nothing was stored") as caught:
        client.runs.submit([bench()], overrides={"info.execution_engine": "nowhere"})
    assert [each.path for each in caught.value.problems] == ["info.execution_engine"]


def test_each_warning_is_given_once(client, bench):
    warnings = []
    client.runs.submit(
        [bench(info='labels = {}\nscheduling = "single_run"')],
        overrides={"hardware.gpus": "0"},
        rounds=1,
        warned=lambda file, problem: warnings.append((file, problem)),
    )
    assert len(warnings) == len(set(warnings))


def test_a_file_that_extends_others_is_complete(client, bench, tmp_path):
    base, overlay = bench(more="[measure]\nrepeats = 0"), tmp_path / "overlay.toml"
    file = tmp_path / "extended.toml"
    file.write_text(f'extends = "{base.name}"\n')
    with pytest.raises(BadInputError) as caught:
        client.runs.submit([file])
    assert [problem.file.endswith(base.name) for problem in caught.value.problems] == [True]
    overlay.write_text("[measure]\nrepeats = 2\n")
    (run,) = ended(client, file, overlays=[overlay])
    assert run.descriptor.measure.repeats == 2


def test_the_commit_is_that_of_the_folder(client, bench, tmp_path):
    file = bench(more='[subject]\ncommit = "auto"')
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "one", date_s=1_700_000_000)
    (run,) = ended(client, file)
    assert run.descriptor.subject.commit == git(tmp_path, "rev-parse", "HEAD")
    assert run.order_s == 1_700_000_000


def test_a_script_travels_with_the_run(client, bench, tmp_path):
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "main.sh").write_text("echo score=42")
    file = bench("sh -c 'sh $BAI_SCRIPTS_PATH/code/main.sh'")
    (run,) = ended(client, file, script=tmp_path / "code")
    assert [point.value for point in client.results.points([run.id]) if point.metric == "score"] == [42]
    (again,) = ended(client, file, script=run.descriptor.ml.script.script)
    assert again.digest == run.digest
    with pytest.raises(BadInputError):
        client.runs.submit([file], script=tmp_path / "missing")


def test_a_run_is_replayed(client, bench):
    (run,) = ended(client, bench())
    replayed = client.runs.replay(run.id, overrides={"measure.repeats": "2"})
    assert replayed.replay_of.id == run.id
    client.runs.wait([replayed.run.id])
    compared = client.runs.compared(replayed)
    assert compared.run.status is Status.SUCCEEDED
    assert compared.differences[: len(replayed.differences)] == replayed.differences


@pytest.mark.parametrize("ref", ["ffffffff", "", "@last~99999", "../x", "a b/c?d#e"])
def test_an_unknown_reference_is_an_error_with_a_remedy(client, ref):
    with pytest.raises(AnubisError) as caught:
        client.runs.get(ref)
    if ref:
        assert isinstance(caught.value, NotFoundError)
        assert caught.value.remedy


def test_listings_are_complete_and_in_order(client, embedded, bench, monkeypatch):
    monkeypatch.setattr(remote_runs, "MOST", 2)
    monkeypatch.setattr(remote_runs, "MOST_NAMED", 3)
    runs = ended(client, bench(info='labels = { team = "x" }'), rounds=5)
    ids = [run.id for run in runs]
    family = runs[0].family_id
    for query, expected in {
        "family": (RunQuery(family_id=family), ids[::-1]),
        "limit": (RunQuery(family_id=family, limit=3), ids[:1:-1]),
        "oldest": (RunQuery(family_id=family, newest_first=False), ids),
        "after": (RunQuery(family_id=family, newest_first=False, after=ids[1], limit=2), ids[2:4]),
        "ids": (RunQuery(ids=tuple(ids[:4]), newest_first=False), ids[:4]),
        "some ids": (RunQuery(ids=tuple(ids[:2])), ids[1::-1]),
        "after of ids": (RunQuery(ids=tuple(ids), newest_first=False, after=ids[2]), ids[3:]),
        "label": (RunQuery(labels={"team": "x"}, family_id=family, limit=1), ids[-1:]),
        "no label": (RunQuery(labels={"team": "z"}), []),
        "status": (RunQuery(statuses=(Status.FAILED, Status.SUCCEEDED), family_id=family), ids[::-1]),
        "other status": (RunQuery(statuses=(Status.FAILED,), family_id=family), []),
        "name": (RunQuery(name=runs[0].descriptor.info.name), ids[::-1]),
        "metric": (RunQuery(metric="score", family_id=family), ids[::-1]),
        "since": (RunQuery(since_s=runs[2].created_s, family_id=family), ids[:1:-1]),
        "until": (RunQuery(until_s=runs[2].created_s, family_id=family), ids[1::-1]),
        "parent": (RunQuery(parent_id=ids[0]), []),
        "subject": (RunQuery(subject="none", family_id=family), []),
    }.values():
        rows = client.runs.find(query)
        assert [row.id for row in rows] == expected, query
        assert rows == embedded.runs.find(query), query


def test_the_record_is_read_by_offset(client, embedded, bench):
    (run,) = ended(client, bench("sh -c 'seq 1 5000; echo score=1 >&2'"))
    files, local = client.records.files(run), embedded.records.files(run)
    whole = b"".join(b"%d\n" % number for number in range(1, 5001))
    assert files.read("stdout", 0, 1 << 20) == whole
    assert files.read("stdout", 7, 11) == whole[7:18]
    assert files.read("stdout", len(whole), 10) == files.read("none", 0, 10) == b""
    for name in ("stdout", "none", "facts.json"):
        assert files.state(name) == local.state(name)
    assert Record(files).facts == Record(local).facts
    assert client.records.has(run)
    assert client.records.replicas(run) == [("benchmark", 0)]
    environment = client.records.environment(run)
    assert environment.values == embedded.records.environment(run).values
    assert "score" in client.records.extract(run.id)


def test_a_run_is_exported_deleted_and_brought_in(client, bench, tmp_path):
    (run,) = ended(client, bench())
    points = client.results.points([run.id])
    file = tmp_path / "run.archive"
    with file.open("wb") as out:
        assert client.records.export(run.id, out) == run
    assert client.runs.purge([run.id]) == [run.id]
    with pytest.raises(NotFoundError):
        client.runs.get(run.id)
    back = client.records.bring_in(file)
    assert (back.id, back.digest, back.status) == (run.id, run.digest, run.status)
    assert [point.value for point in client.results.points([run.id])] == [point.value for point in points]
    with pytest.raises(BadInputError):
        client.records.bring_in(file)
    file.write_bytes(b"no archive")
    with pytest.raises(BadInputError):
        client.records.bring_in(file)
    client.records.seal()
    assert run.id not in client.records.seal()


def test_histories_are_exported(client, bench):
    (run,) = ended(client, bench())
    out = io.BytesIO()
    assert client.histories.export(RunQuery(ids=(run.id,), metric="score"), out) == ()
    header, row = out.getvalue().decode().splitlines()
    assert dict(zip(header.split(","), row.split(","), strict=True))["value"] == "1.5"


def test_a_running_benchmark_is_cancelled(client, bench, tmp_path):
    (run,) = client.runs.submit([bench("sh -c 'touch started; sleep 600'")])
    waiting = threading.Thread(target=client.runs.wait, args=([run.id],))
    waiting.start()
    until((tmp_path / "started").exists, "the benchmark runs")
    with pytest.raises(BadInputError, match=run.id):
        client.runs.purge([run.id])
    assert [each.id for each in client.runs.cancel([run.id], why="enough")] == [run.id]
    waiting.join()
    assert client.runs.cancel([run.id]) == []
    assert client.runs.get(run.id).status is Status.CANCELLED
    (asked,) = [event for event in client.runs.events(run.id) if event.kind == "cancel_requested"]
    assert (asked.message, asked.actor) == ("enough", "me")


def test_engines_are_listed(client, embedded):
    assert client.runs.engines() == embedded.runs.engines()


def test_two_runs_are_compared(client, embedded, bench):
    files = [bench("echo score=1"), bench("echo score=2")]
    first, second = ended(client, *files)
    report = client.gate.check([second.id], [first.id], min_effect=0.1, metrics=["score"])
    assert report == embedded.gate.check([second.id], [first.id], min_effect=0.1, metrics=["score"])
    with pytest.raises(NotFoundError, match="metric"):
        client.gate.check([second.id], [first.id], metrics=["scor"])
    same = ended(client, bench("echo score=1"), rounds=4)
    ids = [run.id for run in same]
    comparison = client.gate.compare(ids[:2], ids[2:], metrics=["score"])
    assert comparison == embedded.gate.compare(ids[:2], ids[2:], metrics=["score"])
    assert [verdict.metric for verdict in comparison.verdicts] == ["score"]


def test_what_is_not_possible_is_said_with_the_remedy(client, kind):
    if kind == "embedded":
        return
    for refused in (client.workers.run, client.workers.keep_schedules):
        with pytest.raises(BadInputError, match="not possible through the service") as caught:
            refused()
        assert "ANUBIS_SERVICE_URL" in caught.value.remedy
    assert not client.workers.start()
    assert not client.workers.pick_up()
    assert json.dumps(client.runs.engines())


def test_the_chain_is_compared_with_what_is_stored(client, embedded, settings, bench):
    (run,) = ended(client, bench())
    client.records.seal()
    report = client.records.compare_chain()
    assert report == embedded.records.compare_chain()
    assert report.damaged == ()
    assert client.records.compare_chain(known=report.head).unchanged == report.unchanged
    with (embedded.records.folder(run.id) / "stdout").open("ab") as file:
        file.write(b"forged")
    (damaged,) = client.records.compare_chain().damaged
    assert damaged.run_id == run.id
    assert any("stdout" in name for name in damaged.changed)
    with pytest.raises(AnubisError, match="chain"):
        client.records.compare_chain(known=Head(10**6, report.head.sha256))
    client.runs.purge([run.id])
    assert client.records.compare_chain().purged == report.purged + 1


def test_the_output_of_runs_is_searched(client, embedded, bench):
    file = bench("sh -c 'for i in 1 2 3; do echo find needle $i; done; echo other needle >&2; echo score=1'")
    name = file.stem
    (run,) = client.runs.wait([run.id for run in client.runs.submit([file])])
    first = client.records.search(LogQuery(pattern="needle", benchmark=name, limit=2, context=1))
    assert [(line.line, line.text) for line in first.lines] == [(1, "find needle 1"), (2, "find needle 2")]
    assert first.lines[0].after == ("find needle 2",)
    rest = client.records.search(LogQuery(pattern="needle", benchmark=name, after=first.next))
    assert [(line.stream, line.text) for line in rest.lines] == [
        ("stdout", "find needle 3"),
        ("stderr", "other needle"),
    ]
    assert rest.next is None
    query = LogQuery(
        pattern="NEEDLE [2-9]$",
        regex=True,
        ignore_case=True,
        run_ids=(run.id,),
        statuses=(Status.SUCCEEDED,),
        streams=("stdout",),
        role="benchmark",
        rank=0,
        since_s=run.created_s - 60,
        until_s=run.created_s + 600,
    )
    found = client.records.search(query)
    assert [line.text[slice(*line.highlights[0])] for line in found.lines] == ["needle 2", "needle 3"]
    assert client.records.index(run.id) == len("find needle 1\n" * 3 + "score=1\n" + "other needle\n")
    assert client.records.search(query) == embedded.records.search(query)
    assert client.records.search(replace(query, labels={"no": "such"})).lines == ()
    with pytest.raises(BadInputError, match="not a regular expression"):
        client.records.search(LogQuery(pattern="(", regex=True))


def test_the_output_of_a_run_is_followed_to_its_end(client, bench):
    command = "sh -c 'for i in 1 2 3; do echo out $i; echo err $i >&2; done; printf rest; echo score=1'"
    (run,) = client.runs.submit([bench(command)])
    waiting = threading.Thread(target=lambda: client.runs.wait([run.id]))
    waiting.start()
    lines = [line for batch in client.records.follow(run.id) for line in batch]
    waiting.join()
    assert {(line.attempt, line.role, line.rank) for line in lines} == {(1, "benchmark", 0)}
    assert [line.line for line in lines if line.stream == "stdout"] == [
        b"out 1",
        b"out 2",
        b"out 3",
        b"restscore=1",
    ]
    again = [line for batch in client.records.follow(run.id, streams=["stderr"], rank=0) for line in batch]
    assert [line.line for line in again] == [b"err 1", b"err 2", b"err 3"]
    assert list(client.records.follow(run.id, role="worker")) == []


def test_the_samples_of_a_run_are_read_together_and_followed(client, bench):
    more = '[[output.metrics]]\nname = "loss"\nunits = "s"\npattern = \'loss=(\\S+)\'\n'
    command = "sh -c 'for i in $(seq 2000); do echo score=$i; echo loss=0.$i; done'"
    (run,) = client.runs.submit([bench(command, more=more)])
    waiting = threading.Thread(target=lambda: client.runs.wait([run.id]))
    waiting.start()
    followed = [each for batch in client.results.follow(run.id, ["score"]) for each in batch]
    waiting.join()
    assert {(each.attempt, each.role, each.rank, each.samples.metric) for each in followed} == {
        (1, "benchmark", 0, "score")
    }
    values = [value for each in followed for value in each.samples.values]
    assert values == [float(number) for number in range(1, 2001)]
    assert list(client.results.samples(run.id, "score").values) == values
    blocks = {block.metric: block for block in client.results.samples_of(run.id, ["loss", "score"])}
    assert list(blocks["score"].values) == values
    assert len(blocks["loss"].values) == 2000
    assert {"loss", "score"} <= {block.metric for block in client.results.samples_of(run.id, most=2)}
    assert len(client.results.samples_of(run.id, ["loss"], most=2)[0].values) == 2


def test_many_submissions_are_stored_together_or_not_at_all(client, bench):
    family, single = bench(more=MATRIX), bench()
    ids = client.runs.submit_all(
        [
            SubmitRequest(files=[family]),
            SubmitRequest(files=[single], overrides={"info.labels": "{batch = 'yes'}"}),
            SubmitRequest(files=[single, family], rounds=2),
        ]
    )
    assert [len(each) for each in ids] == [2, 1, 6]
    assert {row.id for row in client.runs.family(ids[0][0])} == set(ids[0])
    assert client.runs.get(ids[1][0]).family_id is None
    before = len(client.runs.find(RunQuery(limit=1000)))
    with pytest.raises(BadInputError) as refused:
        client.runs.submit_all(
            [
                SubmitRequest(files=[single]),
                SubmitRequest(files=[bench(info="nothing = 1")]),
                SubmitRequest(files=[bench(info="neither = 1")]),
            ]
        )
    named = " ".join(map(str, refused.value.problems)) + str(refused.value)
    assert "nothing" in named
    assert len(client.runs.find(RunQuery(limit=1000))) == before
    client.runs.wait([run_id for each in ids for run_id in each])


def test_submissions_that_are_stored_together_need_each_other(client, bench):
    build, test = bench(), bench()
    first, second = client.runs.submit_all(
        [SubmitRequest(files=[test], needs=[build.stem]), SubmitRequest(files=[build], rounds=2)]
    )
    assert client.runs.get(first[0]).needs == tuple(second)
    client.runs.wait([*first, *second])
    waiting, *needed = (client.runs.get(run_id) for run_id in (*first, *second))
    assert waiting.placed_s >= max(run.ended_s for run in needed)
    with pytest.raises(BadInputError, match="2 problems") as refused:
        client.runs.submit_all(
            [
                SubmitRequest(files=[test], needs=[build.stem, "unknown"]),
                SubmitRequest(files=[build], needs=[test.stem]),
            ]
        )
    assert [each.path for each in refused.value.problems] == ["submissions[0].needs"] * 2


def test_joined_workers_are_found(client, embedded, kind):
    name = f"machine-{kind}"
    assert embedded.workers.make_token(name).startswith("anubis-worker-")
    (found,) = [each for each in client.workers.find() if each.worker.name == name]
    assert (found.worker.seen_s, found.attempts) == (None, [])
    assert client.workers.get(name) == found
    assert embedded.workers.revoke(name).worker.revoked_s
    assert client.workers.get(name).worker.revoked_s
    with pytest.raises(NotFoundError):
        client.workers.get("none")
    with pytest.raises(BadInputError):
        client.workers.make_token("not a name")


def test_runs_wait_for_what_they_need(client, bench):
    first, second = bench(), bench()
    runs = client.runs.submit([first, second], needs=[first.stem])
    by_name = {run.descriptor.info.name: run for run in runs}
    needed, waiting = by_name[first.stem], by_name[second.stem]
    assert (needed.needs, waiting.needs) == ((), (needed.id,))
    ended = {run.id: run for run in client.runs.wait([needed.id, waiting.id])}
    assert ended[waiting.id].placed_s >= ended[needed.id].ended_s
    with pytest.raises(BadInputError, match="cycle"):
        client.runs.submit([first, second], needs=[first.stem, second.stem])
    third = client.runs.submit([bench()], needs=[waiting.id])
    assert client.runs.get(third[0].id).needs == (waiting.id,)
