"""Requests that are derived from the OpenAPI document, against a real service: valid and invalid ones, bounded in number."""

import json

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable

from support.service import Service
from support.tree import ROOT

schemathesis = pytest.importorskip("schemathesis")
schemathesis.checks.load_all_checks()

#: Requests of each kind for each route.
EXAMPLES = 10
DOCUMENT = json.loads((ROOT / "docs/reference/openapi.json").read_text())
ROUTES = [(path, method.upper()) for path, operations in DOCUMENT["paths"].items() for method in operations]
CHECKS = schemathesis.checks.CHECKS.get_by_names(
    [
        "not_a_server_error",
        "status_code_conformance",
        "content_type_conformance",
        "response_schema_conformance",
        "negative_data_rejection",
    ]
)
MODES = {"valid": schemathesis.GenerationMode.POSITIVE, "not valid": schemathesis.GenerationMode.NEGATIVE}


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    running = Service(tmp_path_factory.mktemp("schemathesis") / "served", "--role", "api").start()
    yield running
    running.stop()


@pytest.fixture(scope="module")
def document(service):
    return schemathesis.openapi.from_url(f"{service.url}/api/v1/openapi.json")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("path", "method"), ROUTES)
def test_every_answer_is_as_documented(document, path, method, mode):
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=document[path][method].as_strategy(generation_mode=MODES[mode]))
    def answers(case):
        case.call_and_validate(checks=CHECKS)

    try:
        answers()
    except Unsatisfiable:  # every request that can be made is valid
        assert mode == "not valid"
