import re

import pytest

from support.tree import shown, texts

# Written in two halves, so that this file does not find itself.
REGISTRIES = [
    "py" + "pi.org",
    "python" + "hosted.org",
    "npm" + "js.",
    "deb." + "debian.org",
    "archive." + "ubuntu.com",
]
REGISTRIES += ["proxy." + "golang.org", "static." + "crates.io"]
MACHINE_PATHS = [
    "/wo" + "rk/main",
    "/wo" + "rk/shared",
    "/wo" + "rk/.",
    "/tmp/" + "team",
    "/tmp/" + "bash_jobs",
    "/opt/" + "wheels",
]
MACHINE_PATHS += [".libr" + "ary/", "file:///ho" + "me/", "file:///ro" + "ot/"]


def found_in(text, strings):
    pattern = re.compile("|".join(map(re.escape, strings)))
    return [match.group() for match in pattern.finditer(text)]


@pytest.mark.parametrize("strings", [REGISTRIES, MACHINE_PATHS], ids=["registries", "machine paths"])
def test_no_tracked_file_names_them(strings):
    found = {shown(path): hits for path, text in texts() if (hits := found_in(text, strings))}
    assert found == {}


def test_what_is_searched_for_would_be_found():
    assert found_in("index-url = https://" + REGISTRIES[0] + "/simple", REGISTRIES) == [REGISTRIES[0]]
