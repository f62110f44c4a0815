"""NVML with a library that has its names and returns fixed values: no accelerator is needed."""

import math

import pytest

from anubis.agent.observe.nvml import GAUGES, Devices
from support.c_programs import compiled

FAKE = r"""
#include <string.h>
struct utilization { unsigned gpu, memory; };
struct memory { unsigned long long total, free, used; };
static int devices[2] = {0, 1};
int nvmlInit_v2(void) { return START; }
int nvmlSystemGetDriverVersion(char *text, unsigned size) { strcpy(text, "550.1"); return 0; }
int nvmlDeviceGetCount_v2(unsigned *count) { *count = 2; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned n, void **handle) { *handle = &devices[n]; return 0; }
int nvmlDeviceGetName(int *d, char *text, unsigned size) { strcpy(text, *d ? "B" : "A"); return 0; }
int nvmlDeviceGetUUID(int *d, char *text, unsigned size) { return 3; }
int nvmlDeviceGetMemoryInfo(int *d, struct memory *m) { m->total = 1000; m->used = 10 + *d; return 0; }
int nvmlDeviceGetMaxClockInfo(int *d, unsigned kind, unsigned *mhz) { *mhz = 1000 + kind; return 0; }
int nvmlDeviceGetEnforcedPowerLimit(int *d, unsigned *mw) { *mw = 300500; return 0; }
int nvmlDeviceGetUtilizationRates(int *d, struct utilization *u) { u->gpu = 50 + *d; return 0; }
int nvmlDeviceGetCurrentClocksThrottleReasons(int *d, unsigned long long *r) { *r = 4; return 0; }
int nvmlDeviceGetClockInfo(int *d, unsigned kind, unsigned *mhz) { *mhz = 900 + kind; return 0; }
int nvmlDeviceGetPowerUsage(int *d, unsigned *mw) { *mw = 250000; return *d ? 3 : 0; }
int nvmlDeviceGetTemperature(int *d, unsigned kind, unsigned *c) { *c = 60; return 0; }
"""


def library(folder, start):
    (folder / "fake.c").write_text(FAKE)
    made = folder / f"libfake{start}.so"
    return str(compiled(folder / "fake.c", made, "-shared", "-fPIC", f"-DSTART={start}"))


def test_devices_and_their_gauges(tmp_path):
    devices = Devices(library(tmp_path, 0))
    first, second = devices.describe()
    assert first == {
        "name": "A",
        "uuid": None,
        "memory_bytes": 1000,
        "driver": "550.1",
        "max_sm_hz": 1_000_000_000,
        "max_memory_hz": 1_002_000_000,
        "power_limit_w": 300.5,
    }
    assert second["name"] == "B"
    row = devices.sample()
    assert row[: len(GAUGES)] == [0.5, 10, 900_000_000, 902_000_000, 250.0, 60, 4]
    assert math.isnan(row[len(GAUGES) + 4])  # the second one does not tell its power


def test_a_driver_that_does_not_work(tmp_path):
    with pytest.raises(OSError, match="nvmlInit"):
        Devices(library(tmp_path, 9))


def test_no_driver_at_all():
    with pytest.raises(OSError, match="libno-such"):
        Devices("libno-such-thing.so")
