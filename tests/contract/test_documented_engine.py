"""The engine of docs/howto/add-an-engine.md obeys the contract of engines."""

import os
import re
import signal
import sys
from types import ModuleType

import pytest

from anubis import wiring
from anubis.settings import Settings
from support.processes import left_in
from support.tree import ROOT

PAGE = (ROOT / "docs" / "howto" / "add-an-engine.md").read_text()
CODE = dict(re.findall(r"<!-- example: (\w+) -->\n```python\n(.*?)```", PAGE, re.DOTALL))


def module():
    """Engine and contract test of the page in one module, as their author would have them."""
    made = ModuleType("documented_engine")
    sys.modules[made.__name__] = made  # dataclasses look for their module
    for code in CODE.values():
        exec(compile(code, "add-an-engine.md", "exec"), made.__dict__)
    return made


DOCUMENTED = module()


class TestDocumentedEngine(DOCUMENTED.TestNiceEngine):
    """As in the page; nothing it started outlives a test."""

    @pytest.fixture(autouse=True)
    def _end(self, engine, tmp_path):
        yield
        for pid in left_in(tmp_path):
            os.kill(pid, signal.SIGKILL)
        for child in engine._started.values():
            child.wait()


def test_the_page_shows_engine_and_contract():
    assert list(CODE) == ["engine", "contract"]


def test_the_engine_is_built_with_its_settings(tmp_path, monkeypatch):
    monkeypatch.setenv("ACME_NICE_STEPS", "7")
    engine = DOCUMENTED.build(wiring.surroundings_of(Settings.from_env({"ANUBIS_HOME": str(tmp_path)})))
    assert engine.capabilities.mounting.agent[:3] == ("nice", "-n", "7")
    assert engine.capabilities.mounting.records == str(tmp_path / "records")
