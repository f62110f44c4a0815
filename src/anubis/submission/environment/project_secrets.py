"""Secrets of projects: encrypted in the database, with a key that is in a private file outside of it.

AES-256-GCM with a random nonce for each value. Project and name are authenticated too, so a row cannot be copied to another
project or name.
"""

import contextlib
import hashlib
import os
import re
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anubis.agent.execute.masking import SHORTEST
from anubis.contracts.service.projects import ProjectSecret, SealedSecrets, SealedValue
from anubis.model.access.roles import Decision
from anubis.model.errors import BadInputError, PlugInError, disk_error

_KEY_BYTES, _NONCE_BYTES = 32, 12
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
#: Longest value, bytes.
LONGEST = 1 << 16


@dataclass(frozen=True)
class ProjectSecrets:
    """The secrets of all projects of an installation."""

    stored: SealedSecrets
    #: File of the key: 64 hexadecimal digits.
    key_file: Path

    def value(self, project: str, name: str) -> str | None:
        """The value of a secret; None if the project has no such secret. Raises BadInputError if it cannot be decrypted."""
        sealed = self.stored.sealed(project, name)
        if sealed is None:
            return None
        key = self._key()
        if key is None or _name_of(key) != sealed.key:
            state = "does not exist" if key is None else "has another key"
            raise BadInputError(
                f"the secret {name} of the project {project!r} cannot be decrypted: {self.key_file} {state}",
                remedy="restore the file, or let ANUBIS_SECRETS_KEY name the file of the key that all services share",
            )
        nonce, content = sealed.content[:_NONCE_BYTES], sealed.content[_NONCE_BYTES:]
        try:
            return str(_cipher(key).decrypt(nonce, content, _bound_to(project, name)).decode())
        except Exception as error:
            if type(error).__name__ not in {"InvalidTag", "UnicodeDecodeError", "ValueError"}:
                raise
            raise BadInputError(
                f"the secret {name} of the project {project!r} is damaged", remedy="set it again"
            ) from None

    def put(self, project: str, name: str, value: str, *, by: Decision) -> None:
        """Store a secret, in place of one of the same name. Raises BadInputError, which never contains a value."""
        _check(name, value)
        key = self._key()
        if key is None:
            if others := self.stored.keys():
                raise BadInputError(
                    f"{self.key_file} does not exist, but there are secrets that are encrypted with the key {others[0]}",
                    remedy="restore the file, or let ANUBIS_SECRETS_KEY name it",
                )
            key = self._new_key()
        nonce = os.urandom(_NONCE_BYTES)
        content = nonce + _cipher(key).encrypt(nonce, value.encode(), _bound_to(project, name))
        self.stored.put_sealed(project, name, SealedValue(content=content, key=_name_of(key)), by=by)

    def find(self, project: str) -> Sequence[ProjectSecret]:
        """The secrets of a project without their values, by name."""
        return self.stored.secrets(project)

    def remove(self, project: str, name: str, *, by: Decision) -> None:
        """Delete a secret. Raises NotFoundError."""
        self.stored.remove_secret(project, name, by=by)

    def _key(self) -> bytes | None:
        """The key; None without a file. Raises BadInputError for a file that others can read, or that has no key."""
        try:
            opened = os.open(self.key_file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise BadInputError(
                f"the key of secrets {self.key_file} cannot be read: {error.strerror}",
                remedy="check its permissions",
            ) from error
        with os.fdopen(opened, "rb") as file:
            mode = os.fstat(opened).st_mode
            if not stat.S_ISREG(mode) or mode & 0o077:
                raise BadInputError(
                    f"the key of secrets {self.key_file} must be a file that only its owner can read",
                    remedy=f"chmod 600 {self.key_file}",
                )
            text = file.read(4 * _KEY_BYTES)
        with contextlib.suppress(ValueError):
            if len(key := bytes.fromhex(text.decode("ascii", "replace").strip())) == _KEY_BYTES:
                return key
        raise BadInputError(
            f"the key of secrets {self.key_file} is not a key",
            remedy="restore it; a new one is made by: openssl rand -hex 32",
        )

    def _new_key(self) -> bytes:
        """Make the file of the key; that of another process, if it was first."""
        part = self.key_file.with_name(f".{self.key_file.name}.{os.urandom(8).hex()}")
        try:
            with os.fdopen(
                os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb"
            ) as file:
                file.write(os.urandom(_KEY_BYTES).hex().encode() + b"\n")
                file.flush()
                os.fsync(file.fileno())
            with contextlib.suppress(FileExistsError):
                self.key_file.hardlink_to(part)
        except OSError as error:
            raise disk_error(f"the key of secrets {self.key_file} cannot be made", error) from error
        finally:
            part.unlink(missing_ok=True)
        key = self._key()
        assert key is not None
        return key


def _check(name: str, value: str) -> None:
    if not _NAME.fullmatch(name):
        raise BadInputError(
            f"{name!r} cannot be the name of a secret",
            remedy="use at most 100 letters, digits and _, and a letter or _ at the start",
        )
    size = len(value.encode(errors="surrogatepass"))
    if size < SHORTEST:
        raise BadInputError(
            f"the value of the secret {name} has fewer than {SHORTEST} bytes, so it cannot be masked in the output",
            remedy="use a longer secret, or an ordinary variable for a value that is not secret",
        )
    if "\0" in value or size > LONGEST or any("\ud800" <= char <= "\udfff" for char in value):
        raise BadInputError(
            f"the value of the secret {name} is not text of at most {LONGEST} bytes",
            remedy="encode it, for example in Base64",
        )


def _name_of(key: bytes) -> str:
    return hashlib.sha256(b"name of a key of secrets\0" + key).hexdigest()[:16]


def _bound_to(project: str, name: str) -> bytes:
    return f"anubis secret\0{project}\0{name}".encode()


def _cipher(key: bytes) -> Any:
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415  an optional extra
    except ImportError as error:
        raise PlugInError(
            "secrets of projects need the library cryptography, which is not installed",
            remedy="pip install 'anubis-bench[service]'",
        ) from error
    return AESGCM(key)
