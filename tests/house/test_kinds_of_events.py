"""Webhooks can name every kind of event that the program stores, and the page lists it."""

import ast

from anubis.contracts.events import KINDS
from support.tree import modules


def kinds_of(tree):
    """The literal kinds of the events that a module makes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Event":
            values = [keyword.value for keyword in node.keywords if keyword.arg == "kind"]
        else:
            continue
        for value in values:
            yield from (each.value for each in ast.walk(value) if isinstance(each, ast.Constant))


def test_every_kind_has_a_meaning():
    # Records contain other events: those of the agent.
    trees = [tree for path, tree in modules().items() if not {"agent", "record"} & set(path.parts)]
    found = {kind for tree in trees for kind in kinds_of(tree)}
    assert len(found) > 10
    assert found - KINDS.keys() == set()
