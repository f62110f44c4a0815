"""Standard output or a file, for commands with ``--output``."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from anubis.cli import terminal
from anubis.model.errors import BadInputError


@contextlib.contextmanager
def written(output: Path | None) -> Iterator[BinaryIO]:
    """Standard output, or a file that appears only when it is complete."""
    if output is None:
        yield terminal.raw()
        return
    unfinished = output.with_name(f".{output.name}.unfinished")
    try:
        with unfinished.open("wb") as stream:
            yield stream
        unfinished.replace(output)
    except OSError as error:
        raise BadInputError(f"{output}: {error.strerror}", remedy="give a writable file") from error
    finally:
        unfinished.unlink(missing_ok=True)
