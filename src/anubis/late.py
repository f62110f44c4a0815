"""Modules that are imported at their first use, because most commands do not need them.

Type checkers and the import linter see the real import:

    if TYPE_CHECKING:
        from anubis.judging import gate
    else:
        gate = late("anubis.judging.gate")
"""

from importlib import import_module
from types import ModuleType
from typing import Any


class _LateModule(ModuleType):
    """Forwards every attribute to the module of its name."""

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self.__name__), name)


def late(name: str) -> ModuleType:
    """A stand-in for the module ``name``."""
    return _LateModule(name)
