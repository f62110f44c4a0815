"""The ``anubis`` command. This file stays empty of imports: ``anubis --version`` answers from here."""

import gc
import sys

__all__ = ["baictl", "main"]


def main() -> None:
    """Entry point ``anubis``."""
    if sys.argv[1:] in (["--version"], ["-v"]):
        from anubis import __version__  # noqa: PLC0415

        print(f"anubis {__version__}")
        return
    gc.set_threshold(50_000)  # nothing of what is imported now is garbage: looking for some took 10 ms of 150
    from anubis.cli.app import execute  # noqa: PLC0415

    sys.exit(execute(sys.argv[1:]))


def baictl() -> None:
    """Entry point ``baictl``: the spellings of the old system's cluster tool."""
    from anubis.cli.app import execute  # noqa: PLC0415
    from anubis.cli.legacy import from_baictl  # noqa: PLC0415

    sys.exit(execute(sys.argv[1:], translate=from_baictl))
