"""The agent's options: flags, a file of the same options, and what is refused."""

import json

import pytest

from anubis.agent.options import NAMES, Options, WrongOptionsError


@pytest.fixture
def options(tmp_path):
    """Reads these values from a file, with these words after it."""

    def read(values, *words):
        file = tmp_path / "options.json"
        file.write_text(values if isinstance(values, str) else json.dumps(values))
        return Options(["--options", str(file), *words])

    return read


def test_flags_have_the_types_of_their_defaults():
    words = "--record /r --repeats 3 --timeout-s 1.5 --cwd /w --fresh -- sh -c x --repeats 9"
    found = Options(words.split())
    assert (found.record, found.repeats, found.timeout_s, found.cwd, found.fresh) == (
        "/r",
        3,
        1.5,
        "/w",
        True,
    )
    assert found.command == ["sh", "-c", "x", "--repeats", "9"]
    assert (found.warmups, found.grace_s) == (0, 10.0)


def test_a_file_has_the_same_options_and_a_later_flag_wins(options):
    found = options(
        {"record": "/r", "repeats": 3, "timeout_s": 60, "fresh": True}, "--repeats", "4", "--", "x"
    )
    assert (found.record, found.repeats, found.timeout_s, found.fresh) == ("/r", 4, 60.0, True)
    assert type(found.timeout_s) is float
    assert found.command == ["x"]


def test_every_option_may_be_in_a_file(options):
    values = {name: getattr(Options, name) for name in NAMES} | {"record": "/r"}
    assert options(values).record == "/r"


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"record": "/r", "repeat": 3}, "repeat"),
        ({"record": "/r", "command": ["x"]}, "command"),
        ({"record": "/r", "repeats": "3"}, "repeats"),
        ({"record": "/r", "repeats": 3.0}, "repeats"),
        ({"record": "/r", "repeats": True}, "repeats"),
        ({"record": "/r", "repeats": 0}, "too small"),
        ({"record": "/r", "timeout_s": -1}, "too small"),
        ({"record": "/r", "fresh": 1}, "fresh"),
        ({"record": None}, "record"),
        ('{"record": "/r", "timeout_s": NaN}', "too small"),
        ('{"record": "/r", "timeout_s": Infinity}', "too large"),
        ('{"record": "/r", "grace_s": 1e400}', "too large"),
        ({"record": "/r", "timeout_s": 10**400}, "must be of type float"),
        ("[" * 100_000, "cannot be read"),
        ({}, "--record"),
        ([], "not a JSON object"),
        ("{", "cannot be read"),
    ],
)
def test_a_file_that_cannot_be_understood_is_refused(options, values, named):
    with pytest.raises(WrongOptionsError, match=named):
        options(values)


@pytest.mark.parametrize(
    "words",
    [
        "--record",
        "--options /no/such/file",
        "--record /r --repeats x",
        "--record /r --repeats 0",
        "--record /r --grace-s -1",
        "--record /r --timeout-s inf",
        "--record /r --speed 3",
        "--record /r --command x",
        "record /r",
        "--record /r --NAMES x",
    ],
)
def test_words_that_cannot_be_understood_are_refused(words):
    with pytest.raises(WrongOptionsError):
        Options(words.split())


def test_patterns_of_the_record_are_found(tmp_path):
    assert Options(["--record", str(tmp_path)]).patterns == ""
    (tmp_path / "patterns.json").write_text("{}")
    assert Options(["--record", str(tmp_path)]).patterns == f"{tmp_path}/patterns.json"
    assert Options(["--record", str(tmp_path), "--patterns", "/p"]).patterns == "/p"


def test_relative_paths_start_at_the_working_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = Options(["--record", "r", "--cwd", "w"])
    assert (found.record, found.cwd) == (f"{tmp_path}/r", f"{tmp_path}/w")
