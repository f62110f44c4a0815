"""The live view as text: what it shows of runs that have ended."""

import io

import pytest
from rich.console import Console

from anubis.cli.home import open_client
from anubis.cli.views.live import LiveView
from anubis.model.status import Status
from anubis.testing import a_run


@pytest.fixture
def shown():
    """The last line of the view of these runs."""

    def show(*statuses):
        with open_client() as client:
            runs = [a_run(status=status) for status in statuses]
            view = LiveView(client, runs)
            view.say("press Ctrl-C to stop")
            console = Console(file=io.StringIO(), width=200)
            console.print(view._render())
            return console.file.getvalue().splitlines()[-1]

    return show


@pytest.mark.parametrize(
    ("statuses", "counts"),
    [
        ([Status.ANALYSE], []),
        ([Status.SUCCEEDED], []),
        ([Status.FAILED], []),
        ([Status.SUCCEEDED, Status.ANALYSE], ["1 of 2 done"]),
        ([Status.SUCCEEDED, Status.SUCCEEDED], ["2 of 2 done"]),
        ([Status.FAILED, Status.SUCCEEDED, Status.ANALYSE], ["2 of 3 done", "1 not succeeded"]),
        ([Status.FAILED, Status.CANCELLED, Status.PLACE], ["2 of 3 done", "2 not succeeded"]),
    ],
)
def test_runs_that_ended_are_counted(shown, statuses, counts):
    assert shown(*statuses).strip().split("  ") == [*counts, "press Ctrl-C to stop"]
