"""Runs that start after other runs, as users submit them."""

import pytest

from support.gated import Gated, stored
from support.processes import until
from support.service import Service

MOMENTS = ("waiting", "running")


@pytest.fixture
def service(anubis):
    running = Service(anubis.home).start()
    yield running
    anubis("unregister")
    running.stop()


@pytest.fixture
def gated(anubis):
    bench = Gated(anubis)
    yield bench
    bench.close()


def rows(anubis):
    return {row["name"]: row for row in anubis.json("history")}


def test_a_run_starts_after_what_it_needs(anubis, gated):
    late = anubis.write("late.toml", "echo score=1")
    anubis("submit", gated.file, late, "--needs", "gated")
    until(gated.starts, "the needed run began")
    until(lambda: "waits for gated" in rows(anubis)["late"]["reason"], "the other one waits")
    needed, waiting = rows(anubis)["gated"]["id"], rows(anubis)["late"]["id"]
    assert anubis.json("status", waiting)["needs"] == [needed]
    assert needed in anubis("show", waiting).stdout
    gated.open_gate()
    assert anubis("watch", waiting).returncode == 0
    ended = rows(anubis)
    assert ended["late"]["placed_s"] >= ended["gated"]["ended_s"]


def test_a_run_that_was_needed_and_failed_ends_the_others(anubis):
    anubis.write("build.toml", "false")
    anubis.write("a.toml", "true")
    anubis.write("b.toml", "true")
    assert (
        anubis("run", "build.toml", "a.toml", "b.toml", "--needs", "a=build", "--needs", "b=a").returncode
        == 1
    )
    ended = rows(anubis)
    assert [ended[name]["cause"] for name in ("build", "a", "b")] == ["user_error", "need", "need"]
    assert "build, which it needs, has ended as failed" in ended["a"]["reason"]
    refused = anubis("submit", "a.toml", "--needs", ended["build"]["id"])
    assert refused.returncode == 2
    assert "has ended as failed" in refused.stderr


def test_a_cancelled_need_ends_the_others_and_a_waiting_run_can_be_cancelled(anubis, gated):
    late, other = anubis.write("late.toml", "true"), anubis.write("other.toml", "true")
    anubis("submit", gated.file, late, other, "--needs", "gated")
    until(gated.starts, "the needed run began")
    assert anubis("cancel", rows(anubis)["other"]["id"]).returncode == 0
    assert anubis("watch", rows(anubis)["other"]["id"]).returncode == 5
    anubis("cancel", rows(anubis)["gated"]["id"])
    assert anubis("watch", rows(anubis)["late"]["id"]).returncode == 1
    assert rows(anubis)["late"]["cause"] == "need"


def test_cycles_are_refused_and_store_nothing(anubis):
    anubis.write("a.toml", "true")
    anubis.write("b.toml", "true")
    refused = anubis("submit", "a.toml", "b.toml", "--needs", "a=b", "--needs", "b=a")
    assert refused.returncode == 2
    assert "cycle" in refused.stderr
    assert anubis.json("history") == []


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_killed_service_loses_no_need(anubis, gated, service, moment):
    late = anubis.write("late.toml", "echo done")
    assert anubis("register", service.url).returncode == 0
    anubis("submit", gated.file, late, "--needs", "gated")
    until(gated.starts, "the needed run began")
    if moment == "waiting":
        until(lambda: "waits for" in rows(anubis)["late"]["reason"], "the other one waits")
    service.kill()
    service.start()
    gated.open_gate()
    until(lambda: gated.records("exit.json"), "the needed record is complete")
    assert anubis("watch", rows(anubis)["late"]["id"]).returncode == 0
    first, second = sorted(stored(anubis.home), key=lambda row: row.placed_s)
    assert (first.name, second.name) == ("gated", "late")
    assert second.placed_s >= first.ended_s
