"""Two wishes to the Linux kernel that Python has no function for, without importing ctypes (8 ms)."""

from __future__ import annotations

_SET_PDEATHSIG, _SET_CHILD_SUBREAPER = 1, 36  # linux/prctl.h


def _prctl() -> int | None:
    try:
        import _ctypes

        # typeshed knows neither dlopen's None (the program itself) nor, everywhere, these functions.
        return _ctypes.dlsym(_ctypes.dlopen(None, 2), "prctl")  # type: ignore[arg-type]
    except (ImportError, AttributeError, OSError):
        return None


_ADDRESS = _prctl()


def _call(option: int, value: int) -> bool:
    if _ADDRESS is None:
        return False
    import _ctypes

    return bool(_ctypes.call_function(_ADDRESS, (option, value, 0, 0, 0)) == 0)


def adopt_orphans() -> bool:
    """Become the parent of every descendant whose parent dies, so that daemons cannot get away; whether it was possible."""
    return _call(_SET_CHILD_SUBREAPER, 1)


def die_with_parent(signal: int) -> bool:
    """Ask for this signal when the parent dies, so that a killed agent leaves no benchmark; whether it was possible."""
    return _call(_SET_PDEATHSIG, signal)
