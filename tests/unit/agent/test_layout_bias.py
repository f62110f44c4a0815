"""A program whose cost depends on the length of its path: an A/A control is false without the padding and right with it.

The cost follows from the alignment of stack (C) and heap (NumPy) that the program reports, so no clock decides.
"""

import shutil
import subprocess
import sys
from pathlib import Path
from statistics import mode

import pytest

from anubis.agent.execute.padding import padded
from anubis.analysis.samples.compare import compare
from anubis.model.verdict import Judgement
from support.c_programs import compiled

LAYOUT = Path(__file__).parents[3] / "benchmarks" / "layout"
ALIGNMENTS = (0, 16, 32, 48)
#: Rounds of a control.
ROUNDS = 8


class Stack:
    """A program that is slower if its stack has one of the four alignments."""

    def __init__(self, folder):
        self.command = [str(compiled(LAYOUT / "stack.c", folder / "stack", "-O1"))]

    def alignment(self, words):
        return int(words["derived"])


class Buffers:
    """A program that is slower if NumPy's buffer has one of the four alignments."""

    def __init__(self, folder):
        self.command = [sys.executable, str(shutil.copy(LAYOUT / "buffers.py", folder))]

    def alignment(self, words):
        return int(words["alignment"])


@pytest.fixture(params=[Stack, Buffers])
def sides(request, tmp_path):
    """Two copies of a program in folders whose paths have lengths that lead to different alignments."""
    built = []
    for name in ("a" * length for length in (1, 9, 17, 30, 44, *range(60, 250, 10))):
        folder = tmp_path / name
        folder.mkdir()
        program = request.param(folder)
        built.append((usual_alignment(program, folder), program, folder))
        if built[-1][0] != built[0][0]:
            return built[0], built[-1]
    pytest.fail("no two of these lengths lead to different alignments")


def usual_alignment(program, folder):
    """The alignment of most of three executions: that of a heap is rarely another one."""
    return mode(alignment(program, folder) for _ in range(3))


def alignment(program, folder, *, offset=None):
    # Without a fixed seed the hashes of Python differ between processes, and with them its heap.
    environment = {"PWD": str(folder), "PATH": "/usr/bin:/bin", "PYTHONHASHSEED": "0"}
    if offset is not None:
        environment = padded(program.command[0], program.command, environment, offset)
    done = subprocess.run(
        program.command, env=environment, cwd=folder, capture_output=True, text=True, check=True
    )
    return program.alignment(dict(word.split("=") for word in done.stdout.split()))


def verdict(alignments, slow):
    """The verdict on both sides, which have these alignments one after the other and cost 20 % more at one of them."""
    old, new = ([100.0 + 20 * (side[at % len(side)] == slow) for at in range(ROUNDS)] for side in alignments)
    pairs = [(at, at) for at in range(ROUNDS)]
    return compare("cost", old, new, better="lower", pairs=pairs)


def test_without_padding_the_length_of_the_path_is_a_regression(sides):
    (first, program, folder), (second, other, other_folder) = sides
    again = usual_alignment(program, folder), usual_alignment(other, other_folder)
    assert again == (first, second), "a bias, not noise"
    assert verdict([[first], [second]], second).judgement is Judgement.REGRESSED
    assert verdict([[first], [second]], first).judgement is Judgement.IMPROVED


def test_with_padding_the_length_of_the_path_is_noise(sides):
    """Every side has every alignment, whatever its path."""
    found = [
        [alignment(program, folder, offset=offset) for offset in range(0, 128, 16)]
        for _, program, folder in sides
    ]
    assert [set(side) for side in found] == [set(ALIGNMENTS)] * 2
    for slow in ALIGNMENTS:
        judged = verdict(found, slow)
        assert judged.judgement in {Judgement.UNCHANGED, Judgement.UNDECIDED}
        assert judged.interval[0] <= 0 <= judged.interval[1]


@pytest.mark.parametrize("sides", [Stack], indirect=True)
def test_a_fixed_size_makes_the_stack_equal(sides):
    assert len({alignment(program, folder, offset=0) for _, program, folder in sides}) == 1
