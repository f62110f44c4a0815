"""``anubis search``: lines in the output of all runs, as a user finds them, in a home folder and through a service."""

import json
import threading

import pytest

from anubis.model.errors import BadInputError
from anubis.search.query import LogQuery
from anubis.store import open_store
from support.processes import until
from support.service import Service

TEXT = """spec_version = "1.0"
[info]
name = "chatty"
[hardware]
instance_type = "local"
[ml]
benchmark_code = "sh -c 'echo start; echo loading model 7; printf \\"\\\\033[31mred model 8\\\\n\\"; echo model fails >&2'"
"""


def test_lines_are_found_marked_and_continued(anubis):
    (anubis.folder / "chatty.toml").write_text(TEXT)
    assert anubis("run", "chatty.toml", "chatty.toml").returncode == 0
    found = anubis("search", "model", "--benchmark", "chatty")
    assert found.stdout.count("model 7") == 2
    assert found.stdout.count("stderr:1: model fails") == 2
    assert "\x1b" not in found.stdout
    assert "no line matches" in anubis("search", "nothing").stderr
    first = json.loads(anubis("search", "model", "-n", "4", "--json").stdout)
    rest = json.loads(anubis("search", "model", "--after", first["next"], "--json").stdout)
    assert [line["text"][-7:] for line in first["lines"] + rest["lines"]] == 2 * [
        "model 7",
        "model 8",
        "l fails",
    ]
    assert rest["next"] is None
    context = anubis("search", "-E", "model [0-9]$", "--run", "@last", "-C", "1").stdout.splitlines()
    assert context[0].endswith("stdout:1- start")
    assert context[1].endswith("stdout:2: loading model 7")
    assert "--after" in anubis("search", "model", "-n", "1").stderr


def test_the_index_changes_nothing_that_is_found(anubis):
    (anubis.folder / "chatty.toml").write_text(TEXT)
    assert anubis("run", "chatty.toml").returncode == 0
    before = anubis("search", "MODEL", "-i", "--json").stdout
    (indexed,) = json.loads(anubis("record", "index", "--json").stdout)
    assert indexed["bytes"] > 0
    assert anubis("search", "MODEL", "-i", "--json").stdout == before
    refused = anubis("search", "-E", "(", "--json")
    assert refused.returncode == 2
    assert "not a regular expression" in refused.stderr + refused.stdout


@pytest.fixture
def service(tmp_path):
    running = Service(tmp_path / "served").start()
    yield running
    running.stop()


def test_a_service_indexes_the_runs_that_end(service, anubis):
    (anubis.folder / "chatty.toml").write_text(TEXT)
    with service.client() as client:
        (run,) = client.runs.submit([anubis.folder / "chatty.toml"])
        client.runs.wait([run.id])
    store = open_store(f"sqlite:///{service.home}/anubis.db")
    try:
        until(lambda: store.log_index.of([run.id]), "the run is in the index")
    finally:
        store.close()


def test_catastrophic_patterns_delay_no_other_request(service, anubis):
    (anubis.folder / "slow.toml").write_text(TEXT.replace("echo start", f"echo {'a' * 60}b"))
    with service.client() as client:
        (run,) = client.runs.submit([anubis.folder / "slow.toml"])
        client.runs.wait([run.id])
        errors = []

        def search():
            with service.client() as other:
                try:
                    other.records.search(LogQuery(pattern="(a+)+$", regex=True))
                except BadInputError as error:
                    errors.append(str(error))

        threads = [threading.Thread(target=search) for _ in range(6)]
        for thread in threads:
            thread.start()
        assert client.runs.get(run.id).id == run.id
        assert [line.text for line in client.records.search(LogQuery(pattern="model fails")).lines] == [
            "model fails"
        ]
        for thread in threads:
            thread.join()
    assert len(errors) == 6
    assert all("takes too long" in error for error in errors)
