"""``anubis schedule`` and ``anubis worker --schedules``."""

import signal
import subprocess
import time
from dataclasses import replace

import pytest

from anubis.contracts.runs import RunQuery
from anubis.contracts.schedules import Decision, DueState
from anubis.describe import due_after
from anubis.store import open_store
from support.processes import until


def describe(anubis, name="nightly.toml", scheduling="0 3 * * *", command="echo throughput=3", more=""):
    path = anubis.write(name, command, more=more)
    text = path.read_text()
    line = f'scheduling = "{scheduling}"\ntimezone = "Europe/Berlin"\n'
    path.write_text(text.replace("[hardware]", f"{line}[hardware]"))
    return path


def overdue(anubis, name):
    """Make a schedule look as if no worker had been active for the two hours before its last due time."""
    store = open_store(f"sqlite:///{anubis.home}/anubis.db")
    schedule = store.schedules.get(name)
    first_s = due_after(schedule.scheduling, schedule.timezone, time.time() - 7200)
    store.schedules.change(Decision(after=replace(schedule, next_s=first_s, ready_s=first_s)))
    store.close()


def test_a_schedule_is_added_listed_shown_and_removed(anubis):
    describe(anubis)
    added = anubis("schedule", "add", "nightly.toml", "--jitter", "5m")
    assert added.returncode == 0, added.stderr
    assert "Europe/Berlin" in added.stdout
    assert "anubis worker --schedules" in added.stderr
    schedule_id = added.stdout.split()[0]
    for words in (("schedule",), ("schedule", "ls")):
        assert "nightly" in anubis(*words).stdout
    [listed] = anubis.json("schedule", "ls")
    assert (listed["id"], listed["scheduling"], listed["jitter_s"]) == (schedule_id, "0 3 * * *", 300.0)
    shown = anubis.json("schedule", "show", schedule_id[:13])
    assert len(shown["upcoming_s"]) == 5
    assert shown["upcoming_s"][0] == listed["next_s"]
    misspelt = anubis("schedule", "show", "nightyl")
    assert (misspelt.returncode, "did you mean nightly?" in misspelt.stderr) == (2, True)
    text = anubis("schedule", "show", "nightly").stdout
    assert "NEXT (UTC)" in text
    assert "NEXT (LOCAL)" in text
    (run_id,) = anubis("schedule", "trigger", "nightly").stdout.split()
    assert f"anubis history --schedule {schedule_id}" in anubis("schedule", "rm", "nightly").stdout
    assert anubis.json("schedule", "ls") == []
    assert [row["id"] for row in anubis.json("history", "--schedule", schedule_id)] == [run_id]
    missing = anubis("schedule", "show", "nightly")
    assert missing.returncode == 2
    assert "no schedule is named" in missing.stderr


def test_a_file_that_is_added_again_updates_the_schedule_and_says_what_changed(anubis):
    describe(anubis)
    before = anubis.json("schedule", "add", "nightly.toml")
    assert before["new"]
    assert "is unchanged" in anubis("schedule", "add", "nightly.toml").stderr
    (anubis.folder / "nightly.toml").unlink()
    describe(anubis, scheduling="30 4 * * *")
    after = anubis.json("schedule", "add", "nightly.toml")
    assert (after["id"], after["changes"]) == (before["id"], ["scheduling", "descriptor.info.scheduling"])
    changed = anubis("schedule", "add", "nightly.toml", "--set", "info.scheduling=@daily").stderr
    assert "scheduling: 30 4 * * * -> @daily" in changed


def test_a_schedule_is_triggered_paused_and_resumed(anubis):
    describe(anubis)
    assert anubis("schedule", "add", "nightly.toml").returncode == 0
    [run] = anubis.json("schedule", "trigger", "nightly")
    assert anubis("watch", run["id"]).returncode == 0
    [row] = anubis.json("history", "--schedule", "nightly")
    assert (row["id"], row["status"]) == (run["id"], "succeeded")
    [due] = anubis.json("schedule", "show", "nightly")["due_times"]
    assert (due["state"], due["run_id"]) == ("started", run["id"])
    assert "triggered by" in due["reason"]
    assert anubis.json("schedule", "pause", "nightly", "--why", "holiday")["pause_reason"] == "holiday"
    assert "paused since" in anubis("schedule", "show", "nightly").stdout
    assert "paused  holiday" in anubis("schedule").stdout
    assert anubis.json("schedule", "resume", "nightly")["paused_s"] is None


@pytest.mark.parametrize(
    ("scheduling", "extra", "expected"),
    [
        ("0 0 31 2 *", (), "never due: this date does not exist"),
        ("0 0 31 4,6 *", (), "never due: this date does not exist"),
        ("0 0 32 2 *", (), "day-of-month field of the cron expression is not valid: it takes 1-31"),
        ("0 3 * * *", ("--set", "info.timezone=Europe/Berln"), "did you mean `Europe/Berlin`"),
        ("single_run", (), "no schedule"),
        ("*/5 * * * *", ("--jitter", "10m"), "not shorter than the 300 s"),
        ("0 3 * * *", ("--as", "no name"), "name of a schedule"),
        ("0 3 * * *", ("--set", "info.execution_engine=nowhere"), 'no engine "nowhere"'),
    ],
)
def test_bad_schedules_are_refused_and_nothing_is_stored(anubis, scheduling, extra, expected):
    describe(anubis, scheduling=scheduling)
    refused = anubis("schedule", "add", "nightly.toml", *extra)
    assert refused.returncode == 2
    assert expected in refused.stderr
    assert anubis.json("schedule", "ls") == []


def test_submitting_a_descriptor_with_a_schedule_says_what_to_do(anubis):
    describe(anubis)
    refused = anubis("submit", "nightly.toml")
    assert refused.returncode == 2
    assert "anubis schedule add FILE" in refused.stderr
    assert anubis("run", "nightly.toml", "--set", "info.scheduling=single_run").returncode == 0


def test_a_worker_keeps_schedules_until_it_is_asked_to_stop(anubis):
    describe(anubis, scheduling="*/10 * * * *")
    anubis("schedule", "add", "nightly.toml")
    overdue(anubis, "nightly")
    worker = anubis.start("worker", "--schedules")
    [row] = until(
        lambda: [
            row for row in anubis.json("history", "--schedule", "nightly") if row["status"] == "succeeded"
        ],
        "the run of the missed due time succeeded",
    )
    started, skipped = anubis.json("schedule", "show", "nightly")["due_times"]
    assert (started["state"], started["run_id"]) == ("started", row["id"])
    assert (skipped["state"], skipped["count"]) == ("skipped", 11)
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(30) == 0
    assert b"keeping 1 active schedule" in worker.stderr.read()
    assert len(anubis.json("history", "--schedule", "nightly")) == 1


def test_workers_that_are_killed_lose_no_due_time_and_start_none_twice(anubis):
    names = ["a", "b", "c"]
    for name in names:
        describe(anubis, f"{name}.toml", scheduling="*/10 * * * *")
        anubis("schedule", "add", f"{name}.toml")
        overdue(anubis, name)
    for number in range(2):
        workers = [anubis.start("worker", "--schedules", stderr=subprocess.DEVNULL) for _ in range(2)]
        until(lambda least=number + 1: len(anubis.json("history")) >= least, "a run was submitted")
        for worker in workers:
            worker.kill()
            worker.wait()
    last = anubis.start("worker", "--schedules", stderr=subprocess.DEVNULL)
    until(
        lambda: [row["status"] for row in anubis.json("history")] == ["succeeded"] * len(names),
        "all runs succeeded",
    )
    last.kill()
    last.wait()
    store = open_store(f"sqlite:///{anubis.home}/anubis.db")
    for schedule in store.schedules.find():
        due_times = store.schedules.due_times(schedule.id, limit=100)
        assert sum(due.count for due in due_times) == 12
        assert [due.state for due in due_times].count(DueState.STARTED) == 1
        assert len(store.runs.find(RunQuery(parent_id=schedule.id))) == 1
    store.close()
