"""Limits of time and cost, and what they leave behind, as users see them."""

import json
import signal

import pytest

from support.processes import until

PRICES = 'currency = "USD"\n[machines]\nlocal = 3600\n'


@pytest.fixture
def priced(anubis):
    """A command whose machine costs 1 USD a second."""
    anubis.home.mkdir()
    (anubis.home / "prices.toml").write_text(PRICES)
    return anubis


def test_a_run_ends_at_its_timeout_with_cause_and_remedy(anubis):
    file = anubis.write("slow.toml", "sleep 600", more="[limits]\nrun_timeout_s = 0.5\n")
    ended = anubis("run", file)
    assert ended.returncode == 1
    assert "0.5 s" in ended.stdout
    assert "limits.run_timeout_s" in ended.stdout
    run = anubis.json("status", "@last")
    assert (run["status"], run["cause"]) == ("failed", "run_timeout")


def test_the_timeout_of_a_run_holds_although_its_driver_is_killed(anubis):
    file = anubis.write("slow.toml", "sleep 600", more="[limits]\nrun_timeout_s = 3\n")
    driver = anubis.start("run", file)
    until(lambda: (anubis.json("history") or [{}])[0].get("status") == "watch", "it runs")
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    anubis("watch", "@last")
    assert anubis.json("status", "@last")["cause"] == "run_timeout"


def test_a_failed_run_is_repeated_and_says_how_often(anubis):
    more = '[limits]\nretries = 2\nretry_on = ["user_error"]\nretry_pause_s = 0.1\n'
    file = anubis.write("flaky.toml", "sh -c 'echo x >> tries; test $(wc -l < tries) -ge 3'", more=more)
    ended = anubis("run", file)
    assert ended.returncode == 0, ended.stdout
    run = anubis.json("show", "@last")
    assert run["attempt"] == 3
    assert [event["kind"] for event in run["events"]].count("retried") == 2


def test_the_cost_of_a_run_is_shown_everywhere(priced):
    file = priced.write("short.toml", "sleep 0.3")
    assert priced("run", file).returncode == 0
    for command in (("status", "@last"), ("show", "@last"), ("history",)):
        found = priced.json(*command)
        cost = (found[0] if isinstance(found, list) else found)["cost"]
        assert cost["currency"] == "USD"
        assert 0.3 <= cost["amount"] < 60
    assert "USD" in priced("status", "@last").stdout


def test_a_cost_without_a_price_is_unknown_not_zero(anubis):
    file = anubis.write("short.toml", "true")
    anubis("run", file)
    assert anubis.json("status", "@last")["cost"] is None
    assert "cost" not in anubis("status", "@last").stdout
    (anubis.home / "prices.toml").write_text('currency = "USD"\n[machines]\nother = 1\n')
    anubis("run", file)
    assert anubis.json("status", "@last")["cost"] == {"amount": None, "currency": ""}
    assert "unknown" in anubis("status", "@last").stdout


def test_a_maximum_cost_without_a_price_is_refused_with_the_remedy(anubis):
    file = anubis.write("short.toml", "true")
    refused = anubis("run", file, "--set", "hardware.max_cost=5 USD")
    assert refused.returncode == 2
    assert "ANUBIS_PRICES" in refused.stderr
    assert anubis.json("history") == []


def test_a_run_stops_at_its_maximum_cost(priced):
    file = priced.write("slow.toml", "sleep 600")
    ended = priced("run", file, "--set", "hardware.max_cost=0.5 USD")
    assert ended.returncode == 1
    run = priced.json("status", "@last")
    assert run["cause"] == "max_cost"
    assert 0.1 < run["cost"]["amount"] < 60


def test_a_damaged_price_table_is_named_and_stops_no_run_without_a_limit(priced):
    (priced.home / "prices.toml").write_text('currency = "USD"\n[machines]\nlocal = "free"\n')
    file = priced.write("short.toml", "true")
    assert priced("run", file).returncode == 0
    assert priced.json("status", "@last")["cost"]["amount"] is None
    refused = priced("run", file, "--set", "hardware.max_cost=0.5 USD")
    assert (refused.returncode, "machines.local" in refused.stderr) == (2, True)


def test_a_sweep_ends_with_its_budget_and_reports_its_cost(priced):
    more = '[matrix]\n"env.vars.N" = { from = 1, to = 40, step = 1 }\n'
    more += '[sweep]\nmax_parallel = 2\nmax_cost = "1 USD"\n'
    file = priced.write("grid.toml", "sleep 0.4", more=more)
    ended = priced("sweep", "run", file)
    assert ended.returncode == 1
    assert "of 1 USD" in ended.stdout
    assert "sweep.max_cost" in ended.stdout
    found = priced.json("sweep", "status")
    assert (found["phase"], found["cause"]) == ("stopped", "budget")
    assert found["cost"]["amount"] >= 1
    priced("watch", "@last")
    statuses = {row["status"] for row in priced.json("history")}
    assert statuses <= {"succeeded", "cancelled"}
    assert {row["cause"] for row in priced.json("history") if row["status"] == "cancelled"} <= {"budget"}
    refused = priced("sweep", "resume")
    assert (refused.returncode, "of 1 USD" in refused.stderr) == (2, True)


def test_a_budget_of_time_ends_cells_in_progress(anubis):
    more = '[matrix]\n"env.vars.N" = ["1", "2", "3"]\n[sweep]\nmax_parallel = 1\nmax_run_s = 1\n'
    file = anubis.write("grid.toml", "sleep 600", more=more)
    ended = anubis("sweep", "run", file)
    assert ended.returncode == 1
    (row,) = anubis.json("history")
    anubis("watch", row["id"])
    (row,) = anubis.json("history")
    assert (row["status"], row["cause"]) == ("cancelled", "budget")


def test_limits_do_not_start_a_new_history(anubis):
    file = anubis.write("short.toml", "true")
    anubis("run", file)
    anubis("run", file, "--set", "limits.retries=1", "--set", "limits.run_timeout_s=100")
    keys = {
        json.loads(anubis("status", row["id"], "--json").stdout)["series_key"]
        for row in anubis.json("history")
    }
    assert len(keys) == 1


def test_a_purge_takes_the_runs_that_a_run_caused(anubis):
    from_file = anubis.write("short.toml", "true")
    anubis("run", from_file)
    anubis("run", from_file)
    first, second = (row["id"] for row in anubis.json("history"))
    refused = anubis("purge", "--cascade", first)
    assert (refused.returncode, "--yes" in refused.stderr) == (2, True)
    assert anubis.json("purge", "--cascade", "--yes", first) == {"purged": [first]}
    assert [row["id"] for row in anubis.json("history")] == [second]
