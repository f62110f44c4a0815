import re

import pytest

from anubis import describe
from support.tree import ROOT, shown

FENCE = re.compile(r"^```toml\n(.*?)^```", re.MULTILINE | re.DOTALL)
EXAMPLES = sorted((ROOT / "examples").rglob("*.toml"))


def documented():
    """(page and line, text) of every complete descriptor in the pages; a fence without spec_version is a piece of one."""
    for page in [*ROOT.glob("*.md"), *sorted((ROOT / "docs").rglob("*.md"))]:
        text = page.read_text()
        for match in FENCE.finditer(text):
            if "spec_version" in match[1]:
                yield pytest.param(match[1], id=f"{shown(page)}:{text[: match.start()].count(chr(10)) + 1}")


@pytest.mark.parametrize("path", EXAMPLES, ids=shown)
def test_an_example_loads_without_a_warning(path):
    composed = describe.compose(path.read_bytes(), path.name, path.parent)
    reading = describe.read(composed.text, filename=path.name)
    assert [str(problem) for problem in composed.located(reading.problems)] == []


@pytest.mark.parametrize("text", list(documented()))
def test_a_descriptor_in_the_pages_loads(text):
    """Old spellings are shown in the pages on purpose; they may warn, never fail."""
    assert describe.read(text, filename="page.toml").descriptor is not None


def test_there_are_examples_in_both_places():
    assert len(EXAMPLES) >= 5
    assert list(documented())
