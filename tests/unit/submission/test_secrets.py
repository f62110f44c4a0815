"""The operator's secrets: a private file and the environment."""

import os

import pytest

from anubis.model.errors import BadInputError
from anubis.submission.environment.secrets import Secrets


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "secrets.toml"
    path.write_text('ONE = "value one"\nSHORT = "1234567"\nNUL = "1234567\\u0000"\n')
    path.chmod(0o600)
    return path


def test_the_environment_overrides_the_file(file):
    assert Secrets(file, {}).value("ONE") == "value one"
    assert Secrets(file, {"ANUBIS_SECRET_ONE": "the other"}).value("ONE") == "the other"
    assert Secrets(file.with_name("none"), {"ANUBIS_SECRET_TWO": "value two"}).value("TWO") == "value two"


@pytest.mark.parametrize("name", ["SHORT", "NUL", "TWO"])
def test_a_secret_that_cannot_be_used_is_refused_without_its_value(file, name):
    with pytest.raises(BadInputError) as caught:
        Secrets(file, {}).value(name)
    assert name in str(caught.value)
    assert "1234567" not in f"{caught.value}{caught.value.remedy}"


def test_a_missing_secret_is_named_with_where_to_add_it(file):
    with pytest.raises(BadInputError, match="there is no secret TWO") as caught:
        Secrets(file, {}).value("TWO")
    assert str(file) in caught.value.remedy
    assert "ANUBIS_SECRET_TWO" in caught.value.remedy


def test_a_file_that_others_can_read_is_refused(file):
    file.chmod(0o604)
    with pytest.raises(BadInputError, match="only its owner"):
        Secrets(file, {}).value("ONE")


def test_a_pipe_is_refused_without_waiting_for_a_writer(tmp_path):
    os.mkfifo(tmp_path / "pipe", 0o600)
    with pytest.raises(BadInputError, match="only its owner"):
        Secrets(tmp_path / "pipe", {}).value("ONE")


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(BadInputError):
        Secrets(tmp_path, {}).value("ONE")
