"""The terminal pictures of the pages show what the program prints today."""

import importlib.util
import re
import subprocess
import sys

import pytest

from support.tree import ROOT

SCRIPT = ROOT / "docs" / "pictures.py"
FILES = sorted((ROOT / "docs" / "assets" / "terminal").glob("*.svg"))


@pytest.fixture(scope="module")
def pictures():
    spec = importlib.util.spec_from_file_location("pictures", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_pictures_are_up_to_date():
    checked = subprocess.run([sys.executable, SCRIPT, "--check"], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr


def test_every_session_has_its_picture_on_a_page(pictures):
    assert [file.stem for file in FILES] == sorted(pictures.SESSIONS)
    pages = "".join(page.read_text() for page in (ROOT / "docs").rglob("*.md"))
    assert [file.name for file in FILES if f"assets/terminal/{file.name}" not in pages] == []


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_picture_shows_no_path_and_loads_nothing(file):
    assert (
        re.findall(r"/(?:home|root|tmp|Users)\b|url\((?!#)|https?://(?!www\.w3\.org)", file.read_text()) == []
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [("succeeded", "done"), ("VALUE", "MEAN"), ("hello.toml", "hello.toml --quick"), ("answer", "")],
)
def test_a_picture_of_an_older_program_is_noticed(pictures, before, after):
    picture = (ROOT / "docs" / "assets" / "terminal" / "first-run.svg").read_text()
    text = pictures.text_of(picture)
    assert pictures.difference(picture, text) is None
    assert pictures.difference(picture, text.replace(before, after))


def test_ids_and_times_may_differ(pictures):
    picture = (ROOT / "docs" / "assets" / "terminal" / "first-run.svg").read_text()
    text = re.sub(r"(?m)^(wall_time\s+)[\d.]+", r"\g<1>998.7", pictures.text_of(picture))
    text = re.sub(r"in [\d.]+ ms", "in 1.5 s", text.replace("answer ", "answer*"))
    assert pictures.difference(picture, text) is None
