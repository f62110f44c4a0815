"""NVIDIA accelerators through the library of the driver (NVML), if installed."""

from __future__ import annotations

import ctypes
import os

#: Names and order follow nvml.h.
_GRAPHICS_CLOCK, _MEMORY_CLOCK = 0, 2
_CORE_TEMPERATURE = 0
#: Gauges sampled from every device, with units.
GAUGES = (
    ("util", "ratio"),
    ("memory_used", "B"),
    ("sm_clock", "Hz"),
    ("memory_clock", "Hz"),
    ("power", "W"),
    ("temperature", "Cel"),
    ("throttle_reasons", "bits"),
)


class _Utilization(ctypes.Structure):
    _fields_ = [("gpu", ctypes.c_uint), ("memory", ctypes.c_uint)]


class _Memory(ctypes.Structure):
    _fields_ = [("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong)]


class Devices:
    """The devices visible to this process. Raises OSError when there is no working driver."""

    def __init__(self, library: str = "libnvidia-ml.so.1") -> None:
        self._nvml = ctypes.CDLL(library)
        if self._nvml.nvmlInit_v2() != 0:
            raise OSError("nvmlInit failed")
        count = ctypes.c_uint()
        self._nvml.nvmlDeviceGetCount_v2(ctypes.byref(count))
        self._handles = []
        for number in range(count.value):
            handle = ctypes.c_void_p()
            if self._nvml.nvmlDeviceGetHandleByIndex_v2(number, ctypes.byref(handle)) == 0:
                self._handles.append(handle)

    def __len__(self) -> int:
        return len(self._handles)

    def describe(self) -> list[dict[str, object]]:
        """Name, memory, driver, uuid and highest clocks of every device."""
        driver = ctypes.create_string_buffer(96)
        known = self._nvml.nvmlSystemGetDriverVersion(driver, 96) == 0
        return [
            {
                "name": self._text("nvmlDeviceGetName", handle),
                "uuid": self._text("nvmlDeviceGetUUID", handle),
                "memory_bytes": self._memory(handle).total or None,
                "driver": driver.value.decode("utf-8", "replace") if known else None,
                "max_sm_hz": self._mega(self._whole("nvmlDeviceGetMaxClockInfo", handle, _GRAPHICS_CLOCK)),
                "max_memory_hz": self._mega(self._whole("nvmlDeviceGetMaxClockInfo", handle, _MEMORY_CLOCK)),
                "power_limit_w": self._milli(self._whole("nvmlDeviceGetEnforcedPowerLimit", handle)),
            }
            for handle in self._handles
        ]

    def sample(self) -> list[float]:
        """GAUGES of every device as one row; NaN for a gauge that a device does not provide."""
        row: list[float | None] = []
        for handle in self._handles:
            use = _Utilization()
            has_use = self._nvml.nvmlDeviceGetUtilizationRates(handle, ctypes.byref(use)) == 0
            reasons = ctypes.c_ulonglong()
            has_reasons = (
                self._nvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle, ctypes.byref(reasons)) == 0
            )
            row += [
                use.gpu / 100 if has_use else None,
                self._memory(handle).used,
                self._mega(self._whole("nvmlDeviceGetClockInfo", handle, _GRAPHICS_CLOCK)),
                self._mega(self._whole("nvmlDeviceGetClockInfo", handle, _MEMORY_CLOCK)),
                self._milli(self._whole("nvmlDeviceGetPowerUsage", handle)),
                self._whole("nvmlDeviceGetTemperature", handle, _CORE_TEMPERATURE),
                reasons.value if has_reasons else None,
            ]
        return [float("nan") if value is None else float(value) for value in row]

    def _text(self, function: str, handle: ctypes.c_void_p) -> str | None:
        text = ctypes.create_string_buffer(96)
        if getattr(self._nvml, function)(handle, text, 96) != 0:
            return None
        return text.value.decode("utf-8", "replace")

    def _memory(self, handle: ctypes.c_void_p) -> _Memory:
        memory = _Memory()
        self._nvml.nvmlDeviceGetMemoryInfo(handle, ctypes.byref(memory))
        return memory

    def _whole(self, function: str, handle: ctypes.c_void_p, *which: int) -> int | None:
        value = ctypes.c_uint()
        if getattr(self._nvml, function)(handle, *which, ctypes.byref(value)) != 0:
            return None
        return value.value

    @staticmethod
    def _mega(value: int | None) -> int | None:
        return None if value is None else value * 1_000_000

    @staticmethod
    def _milli(value: int | None) -> float | None:
        return None if value is None else value / 1000


def describe_in_fork(longest_s: float = 10.0) -> list[dict[str, object]]:
    """``Devices().describe()`` in a separate process: the library is large, and a faulty driver can block it."""
    import json
    import select
    import signal

    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(writing, json.dumps(Devices().describe()).encode())
        finally:
            os._exit(0)
    os.close(writing)
    text = b""
    while select.select([reading], [], [], longest_s)[0]:
        part = os.read(reading, 65_536)
        if not part:
            break
        text += part
    else:
        os.kill(pid, signal.SIGKILL)
    os.close(reading)
    os.waitpid(pid, 0)
    try:
        devices = json.loads(text)
    except ValueError:
        return []
    return list(devices)
