"""The layout of the benchmark's memory: a variable pads what exec copies onto the stack to a chosen size.

Program, arguments and variables lie at the top of the stack, so their size moves everything below them, and the heap
that copies them, relative to cache lines and pages. Speed can depend on it (Mytkowicz et al. 2009, ASPLOS). The padding
makes the size independent of the lengths of paths and values, and different in every execution: layout becomes noise.
"""

from __future__ import annotations

import os

#: The variable that holds the padding.
NAME = "ANUBIS_PADDING"
#: The size is the layout offset modulo this; bytes.
PAGE_BYTES = 4096
#: Stacks are aligned to so many bytes.
_ALIGNMENT = 16
_POINTER_BYTES = 8
_MASK = 0xFFFFFFFFFFFFFFFF


def offset_of(seed: int, repeat: int) -> int:
    """The layout offset of one execution: uniform over the aligned bytes of a page, the same for the same run and repeat.

    The mixing function of SplitMix64 (Steele, Lea & Flood 2014, OOPSLA).
    """
    state = (seed * 0x9E3779B97F4A7C15 + repeat * 0xD1B54A32D192ED03) & _MASK
    state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & _MASK
    return (state ^ (state >> 31)) % (PAGE_BYTES // _ALIGNMENT) * _ALIGNMENT


def padded(program: str, command: list[str], environment: dict[str, str], offset: int) -> dict[str, str]:
    """The environment with a padding that makes the size of everything that exec copies ``offset``, modulo a page."""
    with_empty = {**environment, NAME: ""}
    return {**with_empty, NAME: "x" * ((offset - exec_bytes(program, command, with_empty)) % PAGE_BYTES)}


def exec_bytes(program: str, command: list[str], environment: dict[str, str]) -> int:
    """The number of bytes that exec copies onto the stack: texts with their final zeros, and pointers to them."""
    texts = [program, *command, *(f"{name}={value}" for name, value in environment.items())]
    return sum(len(os.fsencode(text)) + 1 for text in texts) + _POINTER_BYTES * (len(texts) - 1)
