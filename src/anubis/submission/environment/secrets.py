"""Secrets by reference: values that a descriptor names as ``secret:NAME``, kept by the operator."""

import os
import stat
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from anubis.agent.execute.masking import SHORTEST
from anubis.model.errors import BadInputError

#: Prefix of environment variables with secrets; they override the file.
PREFIX = "ANUBIS_SECRET_"


class Secrets:
    """The secrets of an installation: a private TOML file of ``NAME = "value"``, and environment variables."""

    def __init__(self, file: Path, environ: Mapping[str, str]) -> None:
        self._file = file
        self._environ = environ
        self._read: Mapping[str, Any] | None = None

    def value(self, name: str) -> str:
        """The value of a secret. Raises BadInputError, which never contains a value."""
        value = self._environ.get(PREFIX + name) or self._of_file().get(name)
        if value is None:
            raise BadInputError(
                f"there is no secret {name}",
                remedy=f'add {name} = "..." to {self._file}, or set {PREFIX}{name}',
            )
        if not isinstance(value, str) or "\0" in value:
            raise BadInputError(
                f"the secret {name} is not text", remedy=f"write it in quotes in {self._file}"
            )
        if len(value.encode(errors="surrogateescape")) < SHORTEST:
            raise BadInputError(
                f"the secret {name} has fewer than {SHORTEST} bytes, so it cannot be masked in the output",
                remedy="use a longer secret, or an ordinary variable for a value that is not secret",
            )
        return value

    def _of_file(self) -> Mapping[str, Any]:
        if self._read is None:
            self._read = _read(self._file)
        return self._read


def _read(path: Path) -> Mapping[str, Any]:
    """The secrets in a file; none without a file."""
    try:
        opened = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise BadInputError(
            f"the file of secrets {path} cannot be read: {error.strerror}", remedy="check its permissions"
        ) from error
    mode = os.fstat(opened).st_mode
    if not stat.S_ISREG(mode) or mode & 0o077:
        os.close(opened)
        raise BadInputError(
            f"the file of secrets {path} must be a file that only its owner can read",
            remedy=f"chmod 600 {path}",
        )
    with os.fdopen(opened, "rb") as file:
        try:
            return tomllib.load(file)
        except (ValueError, RecursionError):  # the message of the parser may quote a value
            raise BadInputError(
                f"the file of secrets {path} is not valid TOML",
                remedy='write one line for each secret: NAME = "value"',
            ) from None
