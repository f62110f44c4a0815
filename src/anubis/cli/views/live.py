"""The live view of runs on a terminal, redrawn only twice a second to disturb the benchmark as little as possible."""

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from anubis.cli import terminal
from anubis.cli.views import remaining_time, status_text
from anubis.cli.views.run_labels import labels_of
from anubis.cli.views.tables import clipped
from anubis.model.run import Run
from anubis.model.status import Status
from anubis.record import layout, tailing
from anubis.record.files import Files
from anubis.record.samples import SampleFile
from anubis.reporting.markup import visible_line
from anubis.reporting.status_words import is_waiting, word_of

if TYPE_CHECKING:
    from anubis.client import Client

DRAWN_PER_S = 2
#: Runs shown in detail; the others are counted.
MOST_SHOWN = 4


class LiveView:
    """Shows the active runs and the number of finished ones."""

    def __init__(self, client: "Client", runs: Sequence[Run]) -> None:
        self._client = client
        self._runs = {run.id: run for run in runs}
        self._short = client.runs.short_ids(self._runs)
        self._labels = labels_of(runs)
        self._samples: dict[str, tuple[SampleFile, dict[str, tuple[float, str]]]] = {}
        self._said = ""
        #: Run id -> the share of its executions that have ended, for runs that are under way.
        self._progress: dict[str, float] = {}
        self._console = Console(stderr=True, highlight=False, no_color=not terminal.colour_wanted())
        self._live = Live(
            get_renderable=self._render,
            console=self._console,
            refresh_per_second=DRAWN_PER_S,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def __enter__(self) -> Self:
        self._live.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._live.__exit__(None, None, None)

    def changed(self, run: Run) -> None:
        self._runs = {**self._runs, run.id: run}

    def say(self, text: str) -> None:
        self._said = text

    def _render(self) -> RenderableType:
        runs = list(self._runs.values())
        active = [
            run for run in runs if run.status not in {Status.FETCH, Status.PLACE} and not run.status.final
        ]
        waiting = [run for run in runs if run.status in {Status.FETCH, Status.PLACE}]
        width = self._console.width
        lines: list[RenderableType] = []
        for run in (active or waiting)[:MOST_SHOWN]:
            lines += [
                Text(clipped(visible_line(line), width), no_wrap=True) for line in self._detail(run, width)
            ]
        lines.append(Text(clipped(visible_line(self._summary(runs)), width), style="dim", no_wrap=True))
        return Group(*lines)

    def _summary(self, runs: Sequence[Run]) -> str:
        ended = [run.status for run in runs if run.status.final]
        failed = len(ended) - ended.count(Status.SUCCEEDED)
        parts = [f"{len(ended)} of {len(runs)} done"] if len(runs) > 1 else []
        parts += [f"{failed} not succeeded"] if failed and len(runs) > 1 else []
        left = remaining_time.remaining_s(runs, self._progress, now_s=time.time())
        return "  ".join(part for part in (*parts, remaining_time.text(left), self._said) if part)

    def _detail(self, run: Run, width: int) -> Iterator[str]:
        now_s = time.time()
        head = [self._short[run.id], run.descriptor.info.name, self._labels[run.id], word_of(run)]
        if took := status_text.took(run.placed_s, run.ended_s, now_s=now_s):
            head.append(took)
        if run.status is not Status.WATCH or is_waiting(run):
            head.append(run.reason or status_text.MEANINGS.get(run.status, ""))
            yield "  ".join(part for part in head if part)
            return
        files = self._client.records.files(run)
        repeat = tailing.last_repeat(files)
        self._progress[run.id] = _share_done(run, repeat)
        head.append(_repeat(run, repeat))
        yield "  ".join(part for part in head if part)
        if values := self._latest(run.id, files):
            yield f"    {status_text.values_line(values)}"
        if line := tailing.last_line(files, layout.STDOUT) or tailing.last_line(files, layout.STDERR):
            yield clipped(f"    > {line}", width)

    def _latest(self, run_id: str, files: Files) -> Mapping[str, tuple[float, str]]:
        """The newest value of each metric so far."""
        samples, values = self._samples.setdefault(run_id, (SampleFile(files), {}))
        for metric, columns in samples.read_new().items():
            values[metric] = (columns.values[-1], columns.units)
        return values


def _share_done(run: Run, repeat: int | None) -> float:
    """The share of the executions that ended before this one began."""
    measure = run.descriptor.measure
    return 0.0 if repeat is None else (repeat + measure.most_warmups) / measure.most_executions


def _repeat(run: Run, repeat: int | None) -> str:
    """``repeat 2 of 5`` or ``warm-up 1 of 2``; empty before the first execution and where there is only one."""
    measure = run.descriptor.measure
    if repeat is None or measure.most_executions == 1:
        return ""
    if repeat < 0:
        most = "at most " if measure.warmups == "auto" else ""
        return f"warm-up {repeat + measure.most_warmups + 1} of {most}{measure.most_warmups}"
    return f"repeat {repeat + 1} of {measure.repeats}"
