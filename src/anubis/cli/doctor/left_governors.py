"""Frequency governors that a killed agent did not put back."""

from collections.abc import Iterator
from pathlib import Path

from anubis.agent.execute import governor
from anubis.cli.doctor.installation_checks import Check, State


def left_governors(folder: Path, sysfs: str = "/sys") -> Iterator[Check]:
    """Put them back. Yields a check if there were some."""
    try:
        if governor.put_back_left(str(folder), sysfs):
            yield Check("left governor", State.OK, "put back after an agent was killed")
    except OSError as error:
        found = (
            f"an agent that was killed changed the governors, and they cannot be put back: {error.strerror}"
        )
        yield Check("left governor", State.WARN, found, "run anubis doctor as the user of that agent")
