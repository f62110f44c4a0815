"""The ``anubis`` command. ``anubis --version`` must not import more than this module."""

import gc
import sys

from anubis import __version__

__all__ = ["baictl", "main"]


def main() -> None:
    """Entry point ``anubis``."""
    if sys.argv[1:] in (["--version"], ["-v"]):
        print(f"anubis {__version__}")
        return
    gc.set_threshold(50_000)  # imports create no garbage: collection took 10 ms of 150 ms
    from anubis.cli.app import execute  # noqa: PLC0415  the version is printed without it

    sys.exit(execute(sys.argv[1:]))


def baictl() -> None:
    """Entry point ``baictl``: the spellings of the old system's cluster tool."""
    from anubis.cli.app import execute  # noqa: PLC0415  see main
    from anubis.cli.legacy import from_baictl  # noqa: PLC0415  see main

    sys.exit(execute(sys.argv[1:], translate=from_baictl))
