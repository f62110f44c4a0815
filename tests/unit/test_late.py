import sys

import pytest

from anubis.late import late


@pytest.fixture
def unused(monkeypatch):
    """The name of a module that nothing has imported."""
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    return "colorsys"


def test_a_module_is_imported_at_its_first_use(unused):
    module = late(unused)
    assert unused not in sys.modules
    assert module.rgb_to_hsv(0, 0, 0) == (0, 0, 0)
    assert unused in sys.modules


def test_attributes_are_those_of_the_module(monkeypatch):
    module = late("anubis.settings")
    monkeypatch.setattr("anubis.settings.Settings", "another")
    assert module.Settings == "another", "nothing is remembered"
    with pytest.raises(AttributeError, match="no_such_name"):
        module.no_such_name  # noqa: B018


def test_a_module_that_does_not_exist_is_reported_at_its_first_use():
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        late("anubis.no_such_module").name  # noqa: B018
