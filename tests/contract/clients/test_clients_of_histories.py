"""One contract for every client: histories of other tools, in and out."""

import io
import itertools
from dataclasses import replace

import pytest
import zstandard

from anubis.contracts.runs import RunQuery
from anubis.model.errors import BadInputError
from anubis.transfer.histories import Added, ImportDefaults

_names = itertools.count()


@pytest.fixture
def csv(tmp_path):
    """Writes a history in a file, with a new benchmark."""
    name = f"history-{next(_names)}"

    def write(*rows):
        path = tmp_path / f"{name}.csv"
        text = "\n".join(f"{name},{metric},{value},s,{time_s}" for metric, value, time_s in rows)
        path.write_text(f"benchmark,metric,value,units,time_s\n{text}\n")
        return path

    write.name = name
    return write


def test_a_history_is_imported_once(client, embedded, csv):
    file = csv(("time", 1.5, 1_767_225_600), ("time", 1.25, 1_767_312_000))
    given = ImportDefaults(commit="7b9a7b3b0f", repository="https://example.org/x", machine="one")
    read = client.histories.read([str(file)], given=given)
    assert (read.refused, len(read.history.runs), read.formats) == (False, 2, {str(file): "csv"})
    assert embedded.runs.find(RunQuery(name=csv.name)) == [], "nothing is stored yet"
    assert client.histories.store(read) == Added(runs=2, values=2)
    assert client.histories.store(read) == Added(), "a repeated request stores nothing"
    rows = embedded.runs.find(RunQuery(name=csv.name, newest_first=False))
    assert [row.values for row in rows] == [{"time": (1.5, "s")}, {"time": (1.25, "s")}]
    assert [row.id for row in rows] == [run.id for run, _ in read.history.runs]
    run = embedded.runs.get(rows[0].id)
    assert run == read.history.runs[0][0]
    (point,) = embedded.results.points([run.id])
    assert replace(point, session="") in read.history.points
    further = csv(("time", 1.5, 1_767_225_600), ("memory", 9, 1_767_225_600))
    assert client.histories.store(client.histories.read([str(further)], given=given)) == Added(
        values=1, joined=1
    )


def test_problems_name_the_file_the_line_and_the_stored_value(client, csv):
    file = csv(("time", 1.5, 1_767_225_600))
    client.histories.store(client.histories.read([str(file)]))
    file = csv(("time", 2.5, 1_767_225_600), ("time", "much", 1_767_312_000), ("time", 3, 1_767_398_400))
    read = client.histories.read([str(file)])
    assert (read.refused, read.differing) == (True, 1)
    assert [(each.file, each.line) for each in read.problems] == [(str(file), 3), (str(file), None)]
    assert "time = 2.5 s here, but 1.5 s in the stored run" in read.problems[1].message
    assert client.histories.store(read) == Added(runs=1, values=1), "what differs from nothing"


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_an_export_contains_what_an_import_needs(client, csv, tmp_path, form):
    client.histories.store(client.histories.read([str(csv(("time", 1.5, 1_767_225_600)))]))
    out = io.BytesIO()
    assert client.histories.export(RunQuery(name=csv.name), out, format_name=form) == ()
    assert out.getvalue()
    if form != "parquet":
        file = tmp_path / f"again.{form}"
        file.write_bytes(out.getvalue())
        again = client.histories.read([str(file)])
        assert not again.refused, again.problems
        assert client.histories.store(again) == Added(), "every value is stored already"


def test_a_file_of_nothing_is_refused(client, tmp_path):
    with pytest.raises(BadInputError):
        client.histories.read([str(tmp_path / "none.csv")])
    empty = tmp_path / "empty.csv"
    empty.write_text("benchmark,value\n")
    assert not client.histories.read([str(empty)]).history.points


def test_a_body_with_an_error_stores_nothing_and_names_the_line(client, csv):
    if not client.is_remote:
        return
    connection = client._connection
    good = f'{{"benchmark":"{csv.name}","metric":"m","value":1,"time_s":1767225600}}\n'
    bad = '{"benchmark":"x","metric":5,"value":"much","time_s":-1,"other":1}\n[1]\n{"a\n'
    with pytest.raises(BadInputError) as caught:
        connection.upload("POST", "histories", (good + bad).encode())
    assert [(each.line, each.path) for each in caught.value.problems] == [
        (2, "other"),
        (2, "metric"),
        (2, "time_s"),
        (3, ""),
        (4, ""),
    ]
    assert client.runs.find(RunQuery(name=csv.name)) == []
    packed = zstandard.ZstdCompressor().compress(good.encode())
    for damaged in (packed[:-3], b"no zstd", packed + packed):
        with pytest.raises(BadInputError, match="zstd"):
            connection.upload("POST", "histories", damaged, encoding="zstd")
    answer = connection.upload("POST", "histories", packed, [("dry_run", "true")], encoding="zstd")
    assert (answer["runs"], answer["stored_runs"]) == (1, None)
    assert connection.upload("POST", "histories", packed, encoding="zstd")["stored_runs"] == 1
