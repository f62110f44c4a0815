import shlex
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anubis import describe
from anubis.agent.execute.variables import expand
from anubis.describe import drafting
from anubis.model.errors import BadInputError

#: Words of a command: anything that a shell can pass; dollars and brackets often.
WORD = st.one_of(
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12),
    st.text("${}()AB\\'\" \x7f\n", max_size=8),
)
COMMAND = st.lists(WORD, min_size=1, max_size=4).filter(lambda words: words[0].strip())
ENVIRONMENT = {"A": "one", "B": "two", "AB": "three"}


@given(command=COMMAND)
def test_a_descriptor_executes_exactly_the_words_of_its_command(command):
    for text in (
        drafting.of_command(command, Path("/")).text,
        drafting.first(command, Path("/"), commit=False),
    ):
        reading = describe.read(text)
        assert reading.problems == ()
        words = shlex.split(reading.descriptor.ml.benchmark_code)
        assert expand(words, ENVIRONMENT) == command


def test_the_number_of_executions_is_in_the_descriptor():
    text = drafting.of_command(["true"], Path("/"), repeats=7).text
    assert describe.read(text).descriptor.measure.repeats == 7


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (["sleep", "1"], "sleep"),
        (["python3", "train.py", "--lr", "0.1"], "train"),
        (["/usr/bin/python3", "-m", "train"], "python3"),
        (["./train.py"], "train"),
        (["Über/was?"], "was"),
        (["?"], "benchmark"),
        (["sh", "-c", ""], "sh"),
    ],
)
def test_a_benchmark_is_named_after_its_script_or_program(command, name, tmp_path):
    (tmp_path / "train.py").touch()
    assert drafting.name_of(command, tmp_path) == name


def test_a_script_runs_with_the_program_of_its_suffix_or_itself(tmp_path):
    for name in ("a.py", "b.SH", "-c.py", "tool"):
        (tmp_path / name).touch()
    (tmp_path / "tool").chmod(0o755)
    found = [drafting.script_command(tmp_path / name, tmp_path) for name in ("a.py", "b.SH", "-c.py", "tool")]
    assert found == [["python3", "a.py"], ["sh", "b.SH"], ["python3", "./-c.py"], ["./tool"]]
    assert drafting.script_command(tmp_path / "a.py", tmp_path / "sub") == ["python3", "../a.py"]
    (tmp_path / "tool").chmod(0o644)
    with pytest.raises(BadInputError, match="not executable"):
        drafting.script_command(tmp_path / "tool", tmp_path)
    with pytest.raises(BadInputError, match="not a file"):
        drafting.script_command(tmp_path / "gone.py", tmp_path)
