"""Errors cross a connection as problem details and arrive as the same errors."""

import json

import pytest

from anubis.api.errors import PAGE, TYPES, error_of, problem_details
from anubis.model import errors
from anubis.model.cause import Cause
from anubis.model.errors import AnubisError, BadInputError, NoCapacityError, NotifyError, StageError
from anubis.model.problem import Problem
from support.tree import ROOT

EXAMPLES = [
    AnubisError("it failed", remedy="try again"),
    BadInputError(
        "2 problems",
        remedy="correct them",
        problems=[Problem(path="info.name", message="is missing", line=3)],
        file="a.toml",
    ),
    errors.UnauthorizedError("the service needs a token", remedy="register with a token"),
    errors.ForbiddenError("not allowed", remedy="ask an administrator"),
    errors.TooManyRequestsError("too many", again_after_s=2.5),
    errors.QuotaError("the project vision has 10 waiting runs", remedy="wait", again_after_s=2.5),
    errors.NotFoundError("no run @last", remedy="see anubis history"),
    errors.CancelledError("a run was cancelled"),
    errors.UndecidedError("they do not differ"),
    errors.ConflictError("another changed it"),
    errors.LeaseLostError("another has it"),
    errors.ElsewhereError("it is on machine b"),
    NoCapacityError("all slots are busy", again_after_s=2.5),
    errors.NotReadyError("pulling busybox:1.36", again_after_s=1.0),
    errors.RevokedError("it was cancelled"),
    StageError("no such image", cause=Cause.TIMEOUT, remedy="name another"),
    errors.SourceError("answered 503", cause=Cause.DATA_UNAVAILABLE, temporary=True, again_after_s=2.0),
    NotifyError("refused", permanent=True),
    NotifyError("busy", again_after_s=30.0),
    errors.PlugInError("engine slurm cannot be loaded", remedy="install it"),
    errors.StoreError("locked"),
    errors.FullError("no space left"),
    errors.DamagedDatabaseError("the database anubis.db is damaged"),
    errors.DamagedSamplesError.of("a-run", "loss", "the checksum of the samples from 0 on differs"),
    errors.ReadOnlyError("read-only file system"),
]


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: type(error).__name__)
def test_an_error_arrives_as_it_was_raised(error):
    details = json.loads(json.dumps(problem_details(error)))
    read = error_of(details)
    assert type(read) is type(error)
    assert vars(read) == vars(error)
    assert details["status"] >= 400
    assert details["detail"] == error.message


def test_every_class_of_errors_has_its_own_type():
    classes = {
        each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, Exception)
    }
    assert {each.error for each in TYPES} == classes
    assert len({each.uri for each in TYPES}) == len(TYPES)
    assert {type(error) for error in EXAMPLES} == classes


def test_a_subclass_has_the_type_of_its_class():
    class Special(errors.NotFoundError):
        pass

    assert problem_details(Special("gone"))["status"] == 404


def test_a_defect_reveals_nothing():
    details = problem_details(ValueError("password=hunter2"))
    assert details["status"] == 500
    assert "hunter2" not in json.dumps(details)


@pytest.mark.parametrize(
    "details",
    [
        {},
        {"type": "https://example.org/#other", "detail": "gone", "status": 410},
        {"type": f"{PAGE}#no-capacity", "detail": "busy"},
        {"type": f"{PAGE}#stage", "detail": "odd", "cause": "of another version"},
        {"type": f"{PAGE}#bad-input", "detail": "odd", "problems": 3, "file": ""},
        {"title": "Bad Gateway", "status": 502},
    ],
)
def test_an_unknown_problem_is_an_error_all_the_same(details):
    read = error_of(details)
    assert type(read) is AnubisError
    assert read.message


@pytest.mark.parametrize("each", TYPES, ids=lambda each: each.name)
def test_every_type_is_an_anchor_of_the_page(each):
    page = (ROOT / "docs" / "reference" / "errors.md").read_text()
    assert PAGE.endswith("docs/reference/errors.md")
    assert f"\n## {each.name}\n" in page
