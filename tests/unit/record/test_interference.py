"""What telemetry says against a measurement."""

from array import array
from math import nan
from types import SimpleNamespace

import pytest

from anubis.record.interference import disturbances


def telemetry(**columns):
    length = len(next(iter(columns.values())))
    return SimpleNamespace(
        times_s=array("d", range(1, length + 1)),
        columns={name: array("f", values) for name, values in columns.items()},
    )


@pytest.mark.parametrize(
    ("columns", "part"),
    [
        ({"cpu_steal": [0.1, 0.1]}, "hypervisor used 10%"),
        ({"throttle_events": [0, 2]}, "was throttled"),
        ({"group_throttled": [0.5, 0.5]}, "CPU quota"),
        ({"swap_in": [5e6, 5e6]}, "swapped in"),
        ({"others_cpus": [0.9, 0.8]}, "other processes used 0.85"),
        ({"gpu0_throttle_reasons": [0x40, 0]}, "gpu0 was slowed down 50%"),
    ],
)
def test_a_disturbance_is_named(columns, part):
    [sentence] = disturbances(telemetry(**columns), 0.0, 2.0)

    assert part in sentence


def test_an_undisturbed_machine_has_no_disturbances():
    quiet = telemetry(cpu_steal=[0.001, 0.0], others_cpus=[0.1, 0.0], gpu0_throttle_reasons=[0x4, 0x1])

    assert disturbances(quiet, 0.0, 2.0) == []


def test_only_the_seconds_of_the_execution_count():
    assert disturbances(telemetry(cpu_steal=[0.9, 0.0, 0.0, 0.9]), 1.0, 2.0) == []


def test_the_unknown_is_not_held_against_a_run():
    assert disturbances(telemetry(cpu_steal=[nan, nan]), 0.0, 2.0) == []
