import ast
import re

import pytest

from support.tree import FUNCTIONS, modules, shown

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
