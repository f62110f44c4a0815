"""What is fuzzed: how an input is made from a number, and the code that reads it.

A target makes its input from a generator alone, so seed, target and number repeat it. ``read`` returns whether the input was
accepted; it raises only the error that the code documents (a refusal), everything else is a finding.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One kind of input."""

    make: Callable[[random.Random], Any]
    #: The input and an empty folder -> whether it was accepted.
    read: Callable[[Any, Path], bool]
    #: Whether ``read`` uses the folder; otherwise none is created.
    needs_folder: bool = False
    #: The errors that the code documents for bad input.
    refusals: tuple[type[Exception], ...] = ()
