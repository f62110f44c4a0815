"""Environments handed from submitting processes to the process that places the run, in private files."""

import contextlib
import hashlib
import json
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from anubis.contracts.environments import SubmittedEnvironment
from anubis.model.cause import Cause
from anubis.model.descriptor import Descriptor, secret_name
from anubis.model.errors import BadInputError, StageError, disk_error
from anubis.model.problem import Problem
from anubis.record import access
from anubis.settings import Settings
from anubis.submission.environment.names import is_secret, is_setting, matcher
from anubis.submission.environment.project_secrets import ProjectSecrets
from anubis.submission.environment.secrets import Secrets

#: Folder of the handed-over environments, and file of the key of digests, in the home folder.
FOLDER, KEY = "environments", "environment.key"
_KEY_BYTES, _DIGEST_BYTES = 32, 8


@dataclass(frozen=True)
class HomeEnvironments:
    """``Environments`` (see the contract) in the home folder."""

    settings: Settings
    #: The environment of this process.
    environ: Mapping[str, str]
    #: The secrets of projects; None: there are none.
    project_secrets: ProjectSecrets | None = None
    #: What was handed over last, and its file: the next run usually has the same environment.
    _last: list[tuple[bytes, str]] = field(default_factory=list, repr=False, compare=False)

    def current(self, descriptor: Descriptor, project: str) -> SubmittedEnvironment:
        problems = list(self._refused(descriptor.env.inherit))
        secrets: dict[str, str] = {}
        source = Secrets(self.settings.secrets, self.environ)
        for path, name in _references(descriptor):
            try:
                own = self.project_secrets.value(project, name) if self.project_secrets else None
                secrets[name] = source.value(name) if own is None else own
            except BadInputError as error:
                problems.append(Problem(path=path, message=error.message, remedy=error.remedy))
        if problems:
            raise BadInputError(
                "the environment of the run cannot be provided; nothing was stored", problems=problems
            )
        return SubmittedEnvironment(
            variables=inherited(self.environ, self.settings.inherit, descriptor.env.inherit), secrets=secrets
        )

    def hand_over(self, run_ids: Sequence[str], environment: SubmittedEnvironment) -> None:
        content = json.dumps({"variables": environment.variables, "secrets": environment.secrets}).encode()
        try:
            access.make_folder(str(self._folder))
            known = dict(self._last).get(content, "")
            for run_id in run_ids:
                name = f"{self._folder}/{run_id}.json"
                if not (known and _linked(known, name)):
                    _write_private(Path(name), content)
                    known = name
            self._last[:] = [(content, known)]
        except OSError as error:
            self.remove(run_ids)
            raise disk_error(
                f"the environment of the run cannot be stored in {self._folder}", error
            ) from error

    def handed_over(self, run_id: str) -> SubmittedEnvironment | None:
        try:
            read = json.loads(self._file(run_id).read_bytes())
            return SubmittedEnvironment(variables=_texts(read["variables"]), secrets=_texts(read["secrets"]))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, LookupError, TypeError, RecursionError) as error:
            raise StageError(
                f"the environment of the submitter cannot be read from {self._file(run_id)}",
                cause=Cause.INTERNAL,
                remedy="submit the run again",
            ) from error

    def remove(self, run_ids: Collection[str]) -> None:
        for run_id in run_ids:
            with contextlib.suppress(OSError):  # none was handed over, or garbage collection deletes it later
                self._file(run_id).unlink()

    def digest(self, text: str) -> str:
        data = text.encode(errors="surrogateescape")
        return hashlib.blake2b(data, digest_size=_DIGEST_BYTES, key=self._key).hexdigest()

    @cached_property
    def _folder(self) -> Path:
        return self.settings.home / FOLDER

    def _file(self, run_id: str) -> Path:
        return self._folder / f"{run_id}.json"

    @cached_property
    def _key(self) -> bytes:
        """The random key of this home folder, made at the first use. Raises StoreError."""
        path = self.settings.home / KEY
        try:
            with contextlib.suppress(FileNotFoundError):
                if len(key := path.read_bytes()) == _KEY_BYTES:
                    return key
            _write_private(path, os.urandom(_KEY_BYTES), replace=False)
            return path.read_bytes()
        except OSError as error:
            raise disk_error(f"the key file {path} cannot be used", error) from error

    def _refused(self, named: Sequence[str]) -> Iterator[Problem]:
        """Variables that the descriptor names but the operator does not allow."""
        allows = matcher(self.settings.inherit)
        for name in named:
            if not allows(name):
                yield Problem(
                    path="env.inherit",
                    message=f"the operator does not allow benchmarks to inherit {name}",
                    remedy="remove it, or let the operator add it to ANUBIS_INHERIT",
                )


def inherited(environ: Mapping[str, str], allowed: Sequence[str], named: Sequence[str]) -> dict[str, str]:
    """The variables that a benchmark inherits: the allowed ones, without secrets and settings that it does not name."""
    allows = matcher(allowed)
    return {
        name: value
        for name, value in environ.items()
        if allows(name) and (name in named or not (is_setting(name) or is_secret(name)))
    }


def _references(descriptor: Descriptor) -> Iterator[tuple[str, str]]:
    """Path of the variable and name of the secret, for each reference."""
    sections = {
        "env.vars": descriptor.env.vars,
        "server.env.vars": descriptor.server.env.vars if descriptor.server else {},
    }
    for section, variables in sections.items():
        for variable, value in variables.items():
            if name := secret_name(value):
                yield f"{section}.{variable}", name


def _texts(values: Mapping[str, str]) -> dict[str, str]:
    """The mapping, if it is one of text to text. Raises TypeError."""
    if not all(isinstance(value, str) for value in values.values()):
        raise TypeError("not a mapping of text")
    return dict(values)


def _linked(file: str, name: str) -> bool:
    """Give a file, which nothing changes, another name; False where that is not possible. Quicker than a new file."""
    try:
        os.link(file, name)
    except OSError:  # for example too many names, or a file system without links
        return False
    return True


def _write_private(path: Path, content: bytes, *, replace: bool = True) -> None:
    """Write a file that only this user, or the group of a shared home folder, can read; without ``replace``, an existing file is kept."""
    part = path.with_name(f".{path.name}.{os.urandom(8).hex()}")
    try:
        with os.fdopen(access.create(str(part), os.O_WRONLY | os.O_EXCL | os.O_CLOEXEC), "wb") as file:
            file.write(content)
        if replace:
            part.replace(path)
        else:
            with contextlib.suppress(FileExistsError):
                path.hardlink_to(part)
    finally:
        part.unlink(missing_ok=True)
