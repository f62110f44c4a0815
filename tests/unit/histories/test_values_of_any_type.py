"""A value of another type than the tool writes is reported or left out; it is never a defect of Anubis."""

import json
from pathlib import Path

import pytest

from anubis.cli.app import execute

RECORDED = Path(__file__).parents[2] / "recorded" / "histories"
FILES = {
    "google-repetitions.json": None,
    "google-aggregates.json": None,
    "hyperfine-scan.json": None,
    "hyperfine-failing.json": None,
    "data.js": "window.BENCHMARK_DATA = ",
    "pytest-benchmark.json": None,
    "bmf.json": None,
}
OTHERS = [[], {}, [["x"]], None, True, -1, 10**400, "x\ud800", ""]


def paths(value, path=()):
    """One path to each place of the document, except that only the first item of a list is used."""
    yield path
    if isinstance(value, dict):
        for key, item in value.items():
            yield from paths(item, (*path, key))
    elif isinstance(value, list) and value:
        yield from paths(value[0], (*path, 0))


def replaced(value, path, other):
    if not path:
        return other
    items = value.items() if isinstance(value, dict) else enumerate(value)
    changed = {key: replaced(item, path[1:], other) if key == path[0] else item for key, item in items}
    return changed if isinstance(value, dict) else list(changed.values())


@pytest.mark.parametrize("name", FILES)
def test_every_value_may_have_another_type(tmp_path, capsys, name):
    text = (RECORDED / name).read_text()
    prefix = FILES[name] or ""
    document = json.loads(text[text.index("{") :] if prefix else text)
    file = tmp_path / name
    places = list(paths(document))
    for number, path in enumerate(places):
        for other in OTHERS[number % 3 :: 3]:
            file.write_text(prefix + json.dumps(replaced(document, path, other)))
            code = execute(["import", "--dry-run", str(file)])
            shown = capsys.readouterr().err
            assert code in {0, 2}, (path, other, shown)


@pytest.mark.parametrize(
    ("name", "path", "other"),
    [
        ("google-aggregates.json", ("benchmarks", 0, "aggregate_name"), []),
        ("hyperfine-scan.json", ("results", 0, "exit_codes"), 5),
        ("data.js", ("entries", "*", 0, "tool"), []),
    ],
)
def test_types_that_were_a_defect(tmp_path, capsys, name, path, other):
    text = (RECORDED / name).read_text()
    prefix = FILES[name] or ""
    document = json.loads(text[text.index("{") :] if prefix else text)
    path = [next(iter(document["entries"])) if key == "*" else key for key in path]
    file = tmp_path / name
    file.write_text(prefix + json.dumps(replaced(document, path, other)))
    assert execute(["import", "--dry-run", str(file)]) in {0, 2}
    assert "a defect in Anubis" not in capsys.readouterr().err
