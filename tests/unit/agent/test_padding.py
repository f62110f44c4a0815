"""The padding of the environment: the size of what exec copies depends on the layout offset alone."""

import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anubis.agent.execute.padding import NAME, PAGE_BYTES, exec_bytes, offset_of, padded
from support.c_programs import compiled

TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=200)
#: A name is not empty and has no equals sign; surrogates represent bytes that are not UTF-8.
NAMES = st.text(st.characters(exclude_characters="\0=", exclude_categories=["Cs"]), min_size=1, max_size=30)
STACK_C = Path(__file__).parents[3] / "benchmarks" / "layout" / "stack.c"


@given(TEXT, st.lists(TEXT, max_size=5), st.dictionaries(NAMES, TEXT, max_size=20), st.integers(0, 4095))
def test_the_size_depends_on_the_offset_alone(program, command, environment, offset):
    found = padded(program, command, environment, offset)
    assert exec_bytes(program, command, found) % PAGE_BYTES == offset
    assert {name: value for name, value in found.items() if name != NAME} == {
        name: value for name, value in environment.items() if name != NAME
    }
    assert len(found[NAME]) < PAGE_BYTES


def test_a_given_padding_is_replaced():
    assert padded("p", ["p"], {NAME: "x" * 9999}, 16) == padded("p", ["p"], {}, 16)


def test_bytes_that_are_not_text_count_once():
    assert exec_bytes("p", [], {"A": "\udcff"}) == exec_bytes("p", [], {"A": "x"})


def test_offsets_are_aligned_repeatable_and_spread_over_a_page():
    found = [offset_of(seed, repeat) for seed in range(100) for repeat in range(-2, 38)]
    assert found == [offset_of(seed, repeat) for seed in range(100) for repeat in range(-2, 38)]
    assert {offset % 16 for offset in found} == {0}
    counts = Counter(found)
    assert set(counts) == set(range(0, PAGE_BYTES, 16))
    assert max(counts.values()) < 40, "about 16 each"


@pytest.mark.parametrize("repeats", [2, 8])
def test_the_executions_of_a_run_differ(repeats):
    assert len({offset_of(123_456_789, repeat) for repeat in range(repeats)}) == repeats


@pytest.fixture(scope="module")
def stack(tmp_path_factory):
    """The program that prints the size that the kernel copied."""
    return compiled(STACK_C, tmp_path_factory.mktemp("built") / "stack", "-O1")


@pytest.mark.parametrize("offset", [0, 16, 2048, 4080])
def test_the_kernel_copies_as_many_bytes_whatever_the_length_of_path_and_values(stack, tmp_path, offset):
    sizes = set()
    for folder in ("a", "a-much-longer-name"):
        (tmp_path / folder).mkdir()
        program = shutil.copy(stack, tmp_path / folder)
        environment = padded(program, [program], {"PWD": str(tmp_path / folder), "HOME": "/"}, offset)
        done = subprocess.run([program], env=environment, capture_output=True, text=True, check=True)
        sizes.add(done.stdout.split()[0])
    assert sizes == {f"size={offset}"}
