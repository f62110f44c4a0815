"""Plug-ins load one at a time; a broken one breaks only itself."""

import importlib
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from anubis import wiring
from anubis.model.errors import PlugInError
from anubis.plug_ins import PlugIns
from anubis.settings import Settings
from support.plug_ins import install, install_broken


@pytest.fixture
def surroundings(tmp_path, monkeypatch):
    """Of an installation whose plug-ins may be in ``tmp_path / "site"``."""
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    yield wiring.surroundings_of(Settings.from_env({"ANUBIS_HOME": str(tmp_path / "home")}))
    for name in ("acme_engine", "acme_notifier", "acme_good"):
        sys.modules.pop(name, None)


@pytest.fixture
def broken(tmp_path, surroundings):
    install_broken(tmp_path / "site")
    return surroundings


def test_a_broken_engine_leaves_the_others_alone(broken):
    engines = wiring.engines(broken)
    assert sorted(engines) == ["acme", "container", "joined", "process", "slurm"]
    assert engines["process"].name == "process"
    assert engines.get("acme") is None
    assert "acme" not in engines


def test_a_broken_plug_in_is_named_with_its_error_and_its_package(broken):
    with pytest.raises(PlugInError) as refused:
        wiring.engines(broken)["acme"]
    assert 'engine "acme" cannot be loaded: ModuleNotFoundError' in refused.value.message
    assert "a_library_that_is_not_installed" in refused.value.message
    assert refused.value.remedy == "update or uninstall acme-anubis"


def test_all_broken_ones_are_listed(broken):
    found = wiring.notifiers(broken).broken()
    assert sorted(found) == ["owl", "pigeon"]
    assert "wings clipped" in found["pigeon"].message
    assert "AttributeError" in found["owl"].message


def test_settings_that_cannot_be_accepted_break_only_their_adapter(surroundings, monkeypatch):
    monkeypatch.setenv("ANUBIS_SLACK_URL", "hush")
    notifiers = wiring.notifiers(surroundings)
    assert notifiers["mailto"]
    with pytest.raises(PlugInError, match="ANUBIS_SLACK_URL") as refused:
        notifiers["slack"]
    assert "hush" not in str(refused.value)


def test_what_is_not_installed_is_a_plain_key_error(surroundings):
    engines = wiring.engines(surroundings)
    with pytest.raises(KeyError) as missing:
        engines["warp"]
    assert not isinstance(missing.value, PlugInError)
    assert engines.get("warp") is None


def test_a_plug_in_is_built_once_also_by_several_threads(tmp_path, surroundings):
    source = "built = []\ndef build(surroundings):\n    built.append(surroundings)\n    return object()\n"
    install(tmp_path / "site", "good", {"anubis.engines": {"good": "acme_good:build"}}, {"acme_good": source})
    engines = PlugIns("anubis.engines", "engine", surroundings)
    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(lambda _: engines["good"], range(16)))) == 1
    assert sys.modules["acme_good"].built == [surroundings]
    assert len(engines) == 5


def test_a_plug_in_that_hangs_while_it_loads_holds_up_no_other(tmp_path, surroundings):
    source = "import threading\nbegun, end = threading.Event(), threading.Event()\n"
    source += "def build(surroundings):\n    begun.set()\n    assert end.wait(60)\n    return object()\n"
    install(tmp_path / "site", "good", {"anubis.engines": {"good": "acme_good:build"}}, {"acme_good": source})
    module = importlib.import_module("acme_good")
    engines = wiring.engines(surroundings)
    hanging = threading.Thread(target=engines.get, args=["good"], daemon=True)
    hanging.start()
    assert module.begun.wait(60)
    with ThreadPoolExecutor(1) as pool:
        try:
            assert pool.submit(engines.get, "process").result(10).name == "process"
        finally:
            module.end.set()
    hanging.join()
