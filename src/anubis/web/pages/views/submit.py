"""Submit from the page: the descriptor is checked while it is written, planned, and submitted once."""

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Form, Response

from anubis.late import late
from anubis.model.errors import BadInputError
from anubis.model.problem import Problem
from anubis.model.run import Run
from anubis.web import descriptors
from anubis.web.pages import visit as visits
from anubis.web.pages.visit import Visit, Visiting
from anubis.web.routes import keyed
from anubis.web.service import service_of

if TYPE_CHECKING:
    from anubis.client.embedded import submission
else:
    submission = late("anubis.client.embedded.submission")

router = visits.router()

#: Longest text of a descriptor, and runs of a plan that are shown.
LONGEST, _SHOWN = 1_000_000, 100
_NAME = "descriptor.toml"
#: The text of the page when it is opened without a run.
EXAMPLE = """spec_version = "1.0"

[info]
name = "hello"

[hardware]
instance_type = "local"

[ml]
benchmark_code = "echo score=1.5"

[measure]
repeats = 3

[[output.metrics]]
name = "score"
units = "1"
better = "higher"
pattern = 'score=(\\S+)'
"""


class _Sent(descriptors.Strict):
    """What a form contains, of which its digest is made."""

    text: str
    folder: str
    rounds: int


Text = Annotated[str, Form(max_length=LONGEST)]
Folder = Annotated[str, Form(max_length=4000)]


@router.get("/submit")
def edit(visit: Visiting, run: str = "", schedule: str = "") -> Response:
    """An editor with an example, or with the descriptor of a run or of a schedule."""
    text, folder = EXAMPLE, ""
    if run:
        found = visit.client.runs.get(run)
        text, folder = visit.client.runs.text(found.id), found.folder or ""
    elif schedule:
        known = visit.client.schedules.get(schedule)
        text, folder = visit.client.schedules.text(known.id), known.folder or ""
    return _page(
        visit, text=text, folder=folder, title="Submit a descriptor", checked=None, key=visit.form_key()
    )


@router.post("/submit")
def send(
    *,
    visit: Visiting,
    text: Text,
    key: Annotated[str, Form(min_length=1, max_length=100)],
    folder: Folder = "",
    rounds: Annotated[int, Form(ge=1, le=1000)] = 1,
    action: Annotated[str, Form(pattern="check|submit")] = "check",
) -> Response:
    """Check a descriptor, or submit it. What was typed remains in the page if it is refused."""
    text = text.replace("\r\n", "\n")
    if action == "check":
        checked = check(visit, text, folder, rounds)
        if visit.request.headers.get("HX-Request"):
            return visit.part("submit_check.html", checked=checked)
        return _page(
            visit, text=text, folder=folder, title=checked["title"], checked=checked, key=key, rounds=rounds
        )
    try:
        runs = _submitted(visit, text, folder, rounds, key)
    except BadInputError as error:
        return _page(
            visit,
            text=text,
            folder=folder,
            title="Not submitted",
            checked=_refused(error),
            key=key,
            rounds=rounds,
            status=400,
        )
    one = len(runs) == 1
    return visit.to(f"/ui/runs/{runs[0]}" if one else f"/ui/runs?family={_family(visit, runs[0])}")


def _page(
    visit: Visit,
    *,
    text: str,
    folder: str,
    title: str,
    checked: dict[str, Any] | None,
    key: str,
    rounds: int = 1,
    status: int = 200,
) -> Response:
    return visit.page(
        "submit.html",
        title=title,
        plain=lambda: {"text": text, "folder": folder},
        status=status,
        text=text,
        folder=folder,
        rounds=rounds,
        checked=checked,
        key=key,
    )


def check(visit: Visit, text: str, folder: str, rounds: int) -> dict[str, Any]:
    """The runs that a descriptor describes and what is wrong with it; nothing is stored."""
    warnings: list[Problem] = []
    try:
        prepared = submission.prepared(
            visit.installation,
            [descriptors.text_of(_body(text, folder))],
            overrides={},
            script=None,
            warned=lambda _file, problem: warnings.append(problem),
        )
    except BadInputError as error:
        return _refused(error)
    runs = [run for run, _ in prepared]
    count = len(runs) * rounds
    return {
        "title": f"Valid: {count} run{'s' * (count != 1)}",
        "is_valid": True,
        "problems": warnings,
        "runs": [_planned(run) for run in runs[:_SHOWN]],
        "more": max(0, len(runs) - _SHOWN),
        "rounds": rounds,
    }


def _planned(run: Run) -> dict[str, Any]:
    descriptor = run.descriptor
    return {
        "name": descriptor.info.name,
        "cell": run.cell,
        "engine": run.engine,
        "machine": descriptor.hardware.instance_type,
        "executions": descriptor.measure.most_executions,
        "metrics": [metric.name for metric in descriptor.output.metrics],
    }


def _refused(error: BadInputError) -> dict[str, Any]:
    problems = error.problems or (Problem(path="", message=error.message, remedy=error.remedy),)
    count = len(problems)
    return {
        "title": f"{count} problem{'s' * (count != 1)}",
        "is_valid": False,
        "problems": problems,
        "runs": [],
        "more": 0,
        "rounds": 1,
    }


def _submitted(visit: Visit, text: str, folder: str, rounds: int, key: str) -> list[str]:
    """The ids of the new runs; those of the first form if it was sent twice, also to another service."""
    installation = visit.installation

    def act(place: tuple[str, str] | None) -> list[str]:
        runs = submission.submit(
            installation,
            [descriptors.text_of(_body(text, folder))],
            overrides={},
            script=None,
            rounds=rounds,
            control=False,
            warned=None,
            key=place,
        )
        service_of(visit.request).wrote()
        return [run.id for run in runs]

    sent = _Sent(text=text, folder=folder, rounds=rounds)
    return keyed.once(installation, f"ui-{key}", sent, act, lambda stored: list(stored.run_ids))[0]


def _family(visit: Visit, run_id: str) -> str:
    return visit.client.runs.get(run_id).family_id or run_id


def _body(text: str, folder: str) -> descriptors.DescriptorBody:
    return descriptors.DescriptorBody(text=text, name=_NAME, folder=folder or None, commits={})
