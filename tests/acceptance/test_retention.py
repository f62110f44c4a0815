"""Held runs are deleted by no command; retention rules delete the rest."""

import pytest


@pytest.fixture
def runs(anubis):
    """Ids of three runs, oldest first. They failed, so no baseline contains them."""
    anubis.write("bench.toml", "false")
    for _ in range(3):
        assert anubis("run", "bench.toml").returncode == 1
    return [run["id"] for run in reversed(anubis.json("history"))]


def rules(anubis, text):
    (anubis.home / "retention.toml").write_text(text)


def left(anubis):
    return [run["id"] for run in reversed(anubis.json("history"))]


def test_a_held_run_cannot_be_purged(anubis, runs):
    (held,) = anubis.json("hold", "add", runs[0], "--why", "audit 7")
    assert (held["run_id"], held["why"]) == (runs[0], "audit 7")
    refused = anubis("purge", *runs, "--yes")
    assert refused.returncode == 2
    assert f"held, so not deleted: {runs[0]}" in refused.stderr
    assert "anubis hold remove" in refused.stderr
    assert left(anubis) == runs
    assert "audit 7" in anubis("hold").stdout
    assert anubis.json("hold", "remove", *runs) == {"released": [runs[0]]}
    assert [event["kind"] for event in anubis.json("show", runs[0])["events"]][-2:] == ["held", "released"]
    assert anubis("purge", *runs, "--yes").returncode == 0
    assert anubis("hold", "list").stdout == "no runs are held\n"


def test_rules_delete_what_is_not_held(anubis, runs):
    anubis.json("hold", "add", runs[1], "--why", "audit")
    rules(anubis, '[[keep]]\nbenchmark = "other"\n[[keep]]\nbenchmark = "b*"\nrun_days = 0.0000001\n')
    would = anubis.json("expire", "--dry-run")
    assert [each["run_id"] for each in would["expired"]] == [runs[0], runs[2]]
    assert left(anubis) == runs
    assert "2 runs deleted" in anubis("expire").stdout
    assert left(anubis) == [runs[1]]
    assert sorted(path.name for path in (anubis.home / "records").iterdir()) == [runs[1]]
    assert anubis("expire").stdout == "nothing to delete\n"
    report = anubis.json("record", "verify")
    assert (report["damaged"], report["purged"]) == ([], 2)


def test_the_runs_of_a_baseline_remain(anubis):
    anubis.write("good.toml", "true")
    assert anubis("run", "good.toml").returncode == 0
    rules(anubis, "[[keep]]\nrun_days = 0.0000001\n")
    assert anubis("expire").stdout == "nothing to delete\n"
    assert len(left(anubis)) == 1


def test_parts_expire_once_and_the_run_remains(anubis, runs):
    anubis.json("hold", "add", runs[1], "--why", "audit")
    rules(anubis, "[[keep]]\nrecord_days = 0.0000001\nevent_days = 0.0000001\n")
    expired = anubis.json("expire")["expired"]
    assert [(each["run_id"], sorted(each["parts"])) for each in expired] == [
        (run, ["events", "record"]) for run in (runs[0], runs[2])
    ]
    assert left(anubis) == runs
    (event,) = anubis.json("show", runs[0])["events"]
    assert event["kind"] == "expired"
    assert (anubis.home / "records" / runs[1]).exists()
    assert not (anubis.home / "records" / runs[0]).exists()
    assert anubis.json("expire")["expired"] == []
    assert anubis.json("record", "verify")["damaged"] == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[keep]]\nrun_days = -1", "keep[0].run_days: this is not a number of days above 0"),
        ("[[keep]]\nrun_dys = 1", "keep[0].run_dys: this is not a key of a retention rule"),
        ("keep = 3", "keep: this is not a list of tables"),
        ("[[keep]]\nlabels = 3", "keep[0].labels: this is not a table of texts"),
        ("[[kep]]", "kep: this is not a key of retention rules"),
        ("[", "are not TOML"),
    ],
)
def test_wrong_rules_are_refused(anubis, text, message):
    anubis.home.mkdir(exist_ok=True)
    rules(anubis, text)
    refused = anubis("expire")
    assert refused.returncode == 2
    assert message in refused.stderr
