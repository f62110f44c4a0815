"""Every descriptor shown to people can be read: the pages, the examples, the README."""

import re

import pytest

from anubis import describe
from support.tree import ROOT, shown

PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")]
BLOCK = re.compile(r"^```toml\n(.*?)^```", re.MULTILINE | re.DOTALL)
BLOCKS = [
    pytest.param(block, id=f"{shown(page)}-{number}")
    for page in sorted(PAGES)
    for number, block in enumerate(BLOCK.findall(page.read_text()))
    if "spec_version" in block or "benchmark_code" in block
]
FILES = sorted((ROOT / "examples").glob("*/*.toml"))


@pytest.mark.parametrize("text", BLOCKS)
def test_a_descriptor_on_a_page_is_valid(text):
    assert describe.read(text).problems == ()


@pytest.mark.parametrize("path", FILES, ids=shown)
def test_an_example_is_valid(path):
    composed = describe.compose(path.read_bytes(), path.name, path.parent)
    assert describe.read(composed.text, filename=path.name).problems == ()


def test_there_is_something_to_read():
    assert BLOCKS
    assert FILES
