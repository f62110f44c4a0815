"""prctl options without a Python function: child subreaper, parent-death signal and others. Avoids importing ctypes (8 ms)."""

from __future__ import annotations

_SET_PDEATHSIG, _SET_DUMPABLE, _SET_NAME, _SET_CHILD_SUBREAPER = 1, 4, 15, 36  # linux/prctl.h


def _prctl() -> int | None:
    try:
        import _ctypes

        # None is the running program. typeshed does not declare it, nor these functions on every platform.
        return _ctypes.dlsym(_ctypes.dlopen(None, 2), "prctl")  # type: ignore[arg-type]
    except (ImportError, AttributeError, OSError):
        return None


_ADDRESS = _prctl()


def _call(option: int, value: int | bytes) -> bool:
    if _ADDRESS is None:
        return False
    import _ctypes

    return bool(_ctypes.call_function(_ADDRESS, (option, value, 0, 0, 0)) == 0)


def adopt_orphans() -> bool:
    """Become the parent of every descendant whose parent dies, daemons included; returns whether it was possible."""
    return _call(_SET_CHILD_SUBREAPER, 1)


def die_with_parent(signal: int) -> bool:
    """Receive this signal when the parent dies, so that a killed agent leaves no benchmark; returns success."""
    return _call(_SET_PDEATHSIG, signal)


def refuse_inspection() -> bool:
    """Keep other processes of the user from reading environment, memory and open files of this process and its forks."""
    return _call(_SET_DUMPABLE, 0)


def rename(name: bytes) -> bool:
    """Set the name that process listings show; at most 15 bytes."""
    return _call(_SET_NAME, name)
