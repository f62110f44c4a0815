"""Energy counters: sums of packages and memory, wrap-around, and what is unknown is never zero."""

import pytest

from anubis.agent.observe import energy

RANGE = 262_143_328_850


@pytest.fixture
def machine(tmp_path):
    """Sets the counters (microjoules) of two packages, the cores of one, and memory."""

    def write(**counters):
        for number, (name, value) in enumerate(counters.items()):
            zone = tmp_path / f"class/powercap/intel-rapl:{number}"
            zone.mkdir(parents=True, exist_ok=True)
            (zone / "name").write_text(name.replace("_", "-") + "\n")
            (zone / "energy_uj").write_text(f"{value}\n")
            (zone / "max_energy_range_uj").write_text(f"{RANGE}\n")
        return str(tmp_path)

    return write


def test_packages_and_memory_are_added_and_cores_are_part_of_their_package(machine):
    counters = energy.Energy(machine(package_0=10**6, package_1=10**6, core=10**6, dram=10**6))
    counters.start()
    machine(package_0=3 * 10**6, package_1=2 * 10**6, core=9 * 10**6, dram=1_500_000)
    assert counters.stop() == {"cpu_j": 3.5, "why": None}


def test_a_counter_that_starts_again_is_continued(machine):
    counters = energy.Energy(machine(package_0=RANGE - 1_000_000))
    counters.start()
    machine(package_0=RANGE - 500_000)
    counters.update()
    machine(package_0=500_000)
    assert counters.stop()["cpu_j"] == pytest.approx(1.5)


def test_every_execution_begins_at_zero(machine):
    counters = energy.Energy(machine(package_0=0))
    for expected in (1.0, 2.0):
        machine(package_0=0)
        counters.start()
        machine(package_0=int(expected * 1e6))
        assert counters.stop()["cpu_j"] == expected


def test_without_counters_or_rights_it_is_unknown(machine, tmp_path):
    without = energy.Energy(str(tmp_path))
    without.start()
    assert without.stop() == {"cpu_j": None, "why": "this machine has no energy counters (RAPL)"}
    root = machine(package_0=5)
    (tmp_path / "class/powercap/intel-rapl:0/energy_uj").unlink()
    unreadable = energy.Energy(root)
    unreadable.start()
    assert unreadable.stop() == {
        "cpu_j": None,
        "why": "the energy counters (RAPL) cannot be read: they need root",
    }


def test_a_counter_that_was_not_read_for_long_is_unknown(machine, monkeypatch):
    now = [0]
    monkeypatch.setattr(energy, "monotonic_ns", lambda: now[0])
    counters = energy.Energy(machine(package_0=0))
    counters.start()
    now[0] = 200 * 10**9
    machine(package_0=5)
    assert counters.stop()["cpu_j"] is None
    assert "were not read for 200 s" in counters.why


def test_a_counter_that_disappears_is_unknown(machine, tmp_path):
    counters = energy.Energy(machine(package_0=0, dram=0))
    counters.start()
    (tmp_path / "class/powercap/intel-rapl:1/energy_uj").write_text("")
    assert counters.stop()["cpu_j"] is None
