import re

import anubis
from support.tree import ROOT


def test_the_version_has_its_entry_first():
    headings = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    released = re.sub(r"\.dev\d+$", "", anubis.__version__)
    assert headings[0] == released
