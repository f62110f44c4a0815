import pkgutil
import tomllib

from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports

from support.tree import PACKAGE, ROOT

RULES = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
#: Modules of the package's root that stand outside the layers, each with the reason.
OUTSIDE = {
    "anubis.late": "late imports of the client and the command line; imports nothing",
    "anubis.settings": "read by wiring and the command line, imports only the model",
    "anubis.testing": "fakes for authors of plug-ins, may know every contract",
    "anubis.__main__": "python -m anubis",
}


def test_the_import_contracts_hold(capsys):
    status = lint_imports(config_filename=str(ROOT / "pyproject.toml"), no_cache=True)
    assert status == EXIT_STATUS_SUCCESS, capsys.readouterr().out


def test_every_folder_has_its_place_in_the_rule():
    layers = next(rule["layers"] for rule in RULES if rule["type"] == "layers")
    placed = {name.strip(" ()") for layer in layers for name in layer.split("|")}
    found = {f"anubis.{module.name}" for module in pkgutil.iter_modules([str(PACKAGE)])}
    assert found - placed - OUTSIDE.keys() == set()
