"""Plug-ins by entry name: each is loaded when it is asked for, and a broken one affects no other."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, TypeVar

from anubis.contracts.world import Surroundings
from anubis.late import late
from anubis.model.errors import BadInputError, PlugInError

if TYPE_CHECKING:
    from importlib import metadata
else:  # 10 ms that a listing does not need
    metadata = late("importlib.metadata")

T = TypeVar("T")


class PlugIns(Mapping[str, T]):
    """The plug-ins of an entry-point group by entry name. Each is loaded when it is asked for, apart from the others."""

    def __init__(self, group: str, noun: str, surroundings: Surroundings) -> None:
        self._group = group
        self._noun = noun
        self._surroundings = surroundings
        self._loaded: dict[str, T | PlugInError] = {}
        #: One for each plug-in: one that hangs while it loads holds up no other.
        self._locks: dict[str, Lock] = {}

    @cached_property
    def _entries(self) -> "Mapping[str, metadata.EntryPoint]":
        return {entry.name: entry for entry in metadata.entry_points(group=self._group)}

    def __getitem__(self, name: str) -> T:
        """The plug-in. Raises KeyError if it is not installed, PlugInError (a KeyError too) if it is broken."""
        if name not in self._entries:
            raise KeyError(name)
        with self._locks.setdefault(name, Lock()):
            if name not in self._loaded:
                self._loaded[name] = self._load(name)
        found = self._loaded[name]
        if isinstance(found, PlugInError):
            raise found
        return found

    def __iter__(self) -> Iterator[str]:
        """The names of all entry points, also of those that cannot be loaded."""
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def broken(self) -> dict[str, PlugInError]:
        """Load every plug-in; those that cannot be loaded, by name."""
        for name in self._entries:
            self.get(name)
        return {name: found for name, found in self._loaded.items() if isinstance(found, PlugInError)}

    def _load(self, name: str) -> T | PlugInError:
        try:
            built: T = self._entries[name].load()(self._surroundings)
        except BadInputError as error:
            reasons = "; ".join(f"{problem.path}: {problem.message}" for problem in error.problems)
            remedy = "; ".join(f"{problem.path}: {problem.remedy}" for problem in error.problems)
            failed = PlugInError(
                f'{self._noun} "{name}" cannot be used: {reasons or error.message}',
                remedy=remedy or error.remedy,
            )
            failed.__cause__ = error
        except (Exception, SystemExit) as error:  # noqa: BLE001  a plug-in may fail in any way, and only it
            package = getattr(self._entries[name].dist, "name", "its package")
            failed = PlugInError(
                f'{self._noun} "{name}" cannot be loaded: {type(error).__name__}: {error}',
                remedy=f"update or uninstall {package}",
            )
            failed.__cause__ = error
        else:
            return built
        return failed
