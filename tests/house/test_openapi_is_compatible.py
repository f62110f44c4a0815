"""The HTTP interface changes only so that clients of the released document continue to work.

After a release, and for a deliberate break before the first one: copy docs/reference/openapi.json to
tests/recorded/openapi/released.json, and write the break into the changes.
"""

import copy
import json

import pytest

from support.openapi_changes import breaking_changes
from support.tree import ROOT

RELEASED = json.loads((ROOT / "tests/recorded/openapi/released.json").read_text())
CURRENT = json.loads((ROOT / "docs/reference/openapi.json").read_text())
SUBMIT = ("paths", "/api/v1/runs", "post")
LIST = ("paths", "/api/v1/runs", "get")


def test_clients_of_the_released_interface_continue_to_work():
    assert breaking_changes(RELEASED, CURRENT) == []


def test_a_document_is_compatible_with_itself():
    assert breaking_changes(CURRENT, copy.deepcopy(CURRENT)) == []


def changed(change):
    new = copy.deepcopy(CURRENT)
    change(new)
    return breaking_changes(CURRENT, new)


def at(document, path):
    for part in path:
        document = document[part]
    return document


def parameter(document, name):
    (found,) = (each for each in at(document, LIST)["parameters"] if each["name"] == name)
    return found


def body(document, name="SubmitBody"):
    return document["components"]["schemas"][name]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda new: new["paths"].pop("/api/v1/names"), "GET /api/v1/names: removed"),
        (lambda new: new["paths"]["/api/v1/runs"].pop("post"), "POST /api/v1/runs: removed"),
        (lambda new: at(new, LIST)["parameters"].pop(0), "query parameter"),
        (lambda new: parameter(new, "limit").update(required=True), "limit: required now"),
        (lambda new: at(new, LIST)["parameters"].append({"in": "query", "name": "new", "required": True}), "new and required"),
        (lambda new: parameter(new, "limit")["schema"].update(maximum=10), "maximum is 10 now"),
        (lambda new: parameter(new, "limit")["schema"].update(minimum=5), "minimum is 5 now"),
        (lambda new: parameter(new, "limit")["schema"].update(type="string"), "type 'integer': removed"),
        (lambda new: parameter(new, "benchmark")["schema"].update(anyOf=[{"type": "null"}]), "type 'string': removed"),
        (lambda new: new["components"]["schemas"]["Status"]["enum"].remove("watch"), "value 'watch': removed"),
        (lambda new: body(new)["properties"].pop("rounds"), "body: rounds: removed"),
        (lambda new: body(new)["required"].append("rounds"), "body: rounds: required now"),
        (lambda new: body(new)["properties"]["rounds"].update(maximum=2), "rounds: maximum is 2 now"),
        (lambda new: body(new)["properties"]["descriptors"].update(maxItems=1), "descriptors: maxItems is 1 now"),
        (lambda new: body(new, "DescriptorBody")["properties"].pop("text"), "descriptors[]: text: removed"),
        (lambda new: body(new, "DescriptorBody")["properties"]["folder"].update(anyOf=[{"type": "null"}]), "folder: type"),
        (lambda new: at(new, SUBMIT)["requestBody"]["content"].clear(), "body application/json: removed"),
        (lambda new: at(new, SUBMIT)["responses"].pop("201"), "answer 201: removed"),
        (lambda new: body(new, "Problem")["properties"].pop("remedy"), "remedy: removed"),
        (lambda new: body(new, "Problem")["required"].remove("detail"), "detail: no longer always there"),
        (lambda new: body(new, "Problem")["properties"]["status"].update(type="string"), "only type 'string'"),
    ],
)  # fmt: skip
def test_breaks_are_found(change, named):
    assert any(named in each for each in changed(change)), changed(change)


@pytest.mark.parametrize(
    "change",
    [
        lambda new: new["paths"].update({"/api/v1/new": new["paths"]["/api/v1/names"]}),
        lambda new: at(new, LIST)["parameters"].append({"in": "query", "name": "new", "required": False}),
        lambda new: parameter(new, "limit")["schema"].update(maximum=10**9, minimum=0),
        lambda new: body(new)["properties"].update(new={"type": "string"}),
        lambda new: new["components"]["schemas"]["Status"]["enum"].append("new"),
        lambda new: body(new, "Problem")["properties"].update(new={"type": "string"}),
        lambda new: body(new, "Problem")["required"].append("remedy"),
        lambda new: body(new)["properties"]["rounds"].pop("maximum"),
    ],
)
def test_additions_are_no_breaks(change):
    assert changed(change) == []
