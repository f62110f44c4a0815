import ast
import re

import pytest

from support.tree import FUNCTIONS, ROOT, modules, shown

#: Words that name nothing here: house.md lists what to say instead.
BANNED_WORDS = {"job", "jobs", "task", "tasks", "trial", "trials", "manager", "managers", "helper", "helpers"}
BANNED_WORDS |= {"util", "utils"}
#: Verbs that say only that something happens. ``do_GET`` and its like are the standard library's.
BANNED_VERBS = re.compile(r"_?(process|handle|do)_[a-z]")
#: name -> why it may stand.
ALLOWED = {
    "sagemaker_job_name": "a field of the descriptors of the old system",
    "task_name": "a field of the descriptors of the old system",
}


def words(name):
    return re.findall(r"[a-z]+", re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name).lower())


def is_banned(name, *, function=False):
    if name in ALLOWED:
        return False
    return bool(BANNED_WORDS & set(words(name))) or (function and bool(BANNED_VERBS.match(name)))


def defined(tree):
    """(name, is a function, line) of everything a module names itself."""
    for node in ast.walk(tree):
        if isinstance(node, FUNCTIONS):
            yield node.name, True, node.lineno
        elif isinstance(node, ast.ClassDef):
            yield node.name, False, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, False, node.lineno
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, False, node.lineno
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr, False, node.lineno


def test_one_word_per_thing():
    found = [
        f"{shown(path)}:{line} {name}"
        for path, tree in modules().items()
        for name, function, line in defined(tree)
        if is_banned(name, function=function)
    ]
    assert found == []


def test_no_module_is_named_after_nothing():
    assert [shown(path) for path in modules() if is_banned(path.stem)] == []


CODE = re.compile(r"^```.*?^```|`[^`]*`|\]\([^)]*\)", re.MULTILINE | re.DOTALL)


def banned_in(text):
    """Banned words of the prose; code and addresses belong to others."""
    return sorted(BANNED_WORDS & set(re.findall(r"[a-z]+", CODE.sub("", text).lower())))


@pytest.mark.parametrize(
    "page",
    [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")],
    ids=shown,
)
def test_pages_use_the_words_of_the_glossary(page):
    assert banned_in(page.read_text()) == []


def test_a_banned_word_of_a_page_is_found():
    assert banned_in("A job, not a `task`.\n```yaml\njobs:\n```\n[x](https://example.org/trial)") == ["job"]


@pytest.mark.parametrize(
    "name", ["Job", "job_id", "TaskRunner", "string_utils", "ConnectionManager", "helper"]
)
def test_a_banned_word_is_found(name):
    assert is_banned(name)


@pytest.mark.parametrize("name", ["process_run", "handle_event", "do_submit", "_do_it"])
def test_a_verb_that_says_nothing_is_found(name):
    assert is_banned(name, function=True)


@pytest.mark.parametrize(
    "name", ["process_slots", "multitasking", "do_GET", "processor", "sagemaker_job_name"]
)
def test_what_only_looks_like_it_passes(name):
    assert not is_banned(name, function=name == "do_GET")
