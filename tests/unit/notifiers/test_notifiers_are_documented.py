import re
from importlib.metadata import entry_points

import pytest

from support.tree import PACKAGE, ROOT

REFERENCE = ROOT / "docs" / "reference"
PAGE = (REFERENCE / "notifiers.md").read_text()
SETTINGS = (REFERENCE / "settings.md").read_text()
NAMES = {
    name
    for path in (PACKAGE / "notifiers").glob("*.py")
    for name in re.findall(r'"((?:ANUBIS|GITHUB|GITLAB)_[A-Z_]+)"', path.read_text())
}
#: Set by GitHub Actions only.
GIVEN = {"GITHUB_EVENT_NAME", "GITHUB_EVENT_PATH"}


def test_settings_are_found():
    assert {"ANUBIS_SMTP_URL", "GITHUB_TOKEN"} <= NAMES


@pytest.mark.parametrize("name", sorted(NAMES - GIVEN))
def test_every_setting_stands_in_the_reference(name):
    assert f"| `{name}` |" in SETTINGS


@pytest.mark.parametrize("scheme", [entry.name for entry in entry_points(group="anubis.notifiers")])
def test_every_scheme_stands_in_the_reference(scheme):
    assert f"`{scheme}:" in PAGE
