"""Confirming runs through the command line: a slow machine is not confirmed, a slower version is."""

import pytest

from support.processes import until

#: The code comes with the run; the state of the machine is outside of it.
SCRIPT = """\
n=$(cat {folder}/count 2>/dev/null || echo 0)
echo $((n + 1)) >{folder}/count
awk -v state="$(cat {folder}/state)" -v n="$n" 'BEGIN {{ print "latency=" state * {level} * (1 + 0.003 * sin(7.3 * n)) }}'
"""
METRIC = """
[[output.metrics]]
name = "latency"
units = "ms"
pattern = 'latency=(\\S+)'
better = "lower"
[[notify]]
to = "mailto:team@example.org"
confirm_runs = 2
"""


class Machine:
    """``anubis`` on a machine whose state a test sets, with a benchmark whose code a test sets."""

    def __init__(self, anubis):
        self.anubis = anubis
        (anubis.folder / "code").mkdir()

    def measure(self, version, level, *, state=1.0, rounds=1):
        """Run a version, and all runs that it orders."""
        folder = self.anubis.folder
        (folder / "state").write_text(str(state))
        (folder / "code" / "main.sh").write_text(SCRIPT.format(folder=folder, level=level))
        subject = f'[subject]\nversion = "{version}"\n'
        file = self.anubis.write(
            "bench.toml", "sh -c 'sh $BAI_SCRIPTS_PATH/code/main.sh'", more=subject + METRIC
        )
        ended = self.anubis("run", file, "--script", "code", "--rounds", rounds)
        assert ended.returncode == 0, ended.stderr
        until(lambda: not self._unfinished(), "every confirming run has ended")

    def _unfinished(self):
        """The runs that are not final; a worker in the background drives them."""
        ended = {"succeeded", "failed", "cancelled"}
        return [run for run in self.anubis.json("history") if run["status"] not in ended]


@pytest.fixture
def machine(anubis):
    machine = Machine(anubis)
    machine.measure("1", 10.0, rounds=8)
    return machine


def test_a_slow_machine_is_not_reported_as_a_slower_version(anubis, machine):
    machine.measure("2", 10.0, state=1.2)

    (alert,) = anubis.json("alerts", "--all")
    assert alert["state"] == "resolved"
    assert alert["why"].startswith("not confirmed by running again: latency ")
    assert alert["why"].endswith("(2 pairs)")
    assert anubis.json("alerts", "show", alert["id"])["deliveries"] == []
    levels = [run["metrics"]["latency"]["value"] for run in anubis.json("history", "--limit", 5)]
    assert min(levels) > 11.9, "baseline and contender ran again in the same state of the machine"


def test_a_slower_version_is_confirmed_on_a_machine_in_another_state(anubis, machine):
    machine.measure("2", 12.0, state=0.97)

    (alert,) = anubis.json("alerts")
    assert (alert["kind"], alert["state"]) == ("regression", "confirmed")
    assert alert["why"].startswith("confirmed by running again: latency +")
    (delivery,) = anubis.json("alerts", "show", alert["id"])["deliveries"]
    assert delivery["state"] == "confirmed"
