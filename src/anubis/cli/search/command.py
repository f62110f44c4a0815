"""``anubis search``: lines in the output of all runs."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from anubis.api.search.found import cursor_of, line_to_json, place_of
from anubis.cli import terminal
from anubis.cli.home import open_client
from anubis.cli.params import MOMENT, REF, json_option, labels_option, mapping
from anubis.cli.select import refs
from anubis.cli.views import json_output
from anubis.record.layout import BENCHMARK, FIRST_RANK, STDERR, STDOUT
from anubis.search.query import MOST_CONTEXT, MOST_LINES, FoundLine, LogPage, LogPlace, LogQuery

if TYPE_CHECKING:
    from anubis.client import Client


@click.command()
@click.argument("pattern")
@click.option("--regex", "-E", is_flag=True, help="The pattern is a regular expression of Python.")
@click.option("--ignore-case", "-i", is_flag=True, help="Ignore the case of ASCII letters.")
@click.option("--run", "runs", type=REF, multiple=True, metavar="RUN", help="Only this run; repeatable.")
@click.option("--family", type=REF, metavar="RUN", help="Only runs of this run's family or sweep.")
@click.option("--benchmark", metavar="NAME", help="Only runs of this benchmark.")
@click.option(
    "--commit", metavar="COMMIT", help="Only runs of this commit or version; a prefix is sufficient."
)
@labels_option("Only runs with this label")
@click.option("--since", type=MOMENT, metavar="TIME", help="Only lines since then: 2026-01-31, 2h, 3d.")
@click.option("--until", type=MOMENT, metavar="TIME", help="Only lines until then.")
@click.option("--stdout", "only", flag_value=STDOUT, help="Only standard output.")
@click.option("--stderr", "only", flag_value=STDERR, help="Only standard error.")
@click.option("--role", help="Only replicas of this role: benchmark, server or worker.")
@click.option("--rank", type=click.IntRange(min=0), help="Only replicas of this rank.")
@click.option(
    "--context",
    "-C",
    type=click.IntRange(0, MOST_CONTEXT),
    default=0,
    metavar="N",
    help="Lines around each line.",
)
@click.option(
    "--limit",
    "-n",
    type=click.IntRange(1, MOST_LINES),
    default=100,
    show_default=True,
    metavar="N",
    help="Show at most N lines.",
)
@click.option(
    "--after", metavar="CURSOR", help="Continue after an earlier search, which printed this cursor."
)
@json_option
def search(
    *,
    pattern: str,
    regex: bool,
    ignore_case: bool,
    runs: tuple[str, ...],
    family: str | None,
    benchmark: str | None,
    commit: str | None,
    labels: tuple[tuple[str, str], ...],
    since: float | None,
    until: float | None,
    only: str | None,
    role: str | None,
    rank: int | None,
    context: int,
    limit: int,
    after: str | None,
    as_json: bool,
) -> None:
    """Search for a text in the output of all runs, the newest runs first.

    Each line is printed after its run, stream and number. If more lines may match, a note names the cursor with which
    the search continues. With --json the result is one object: lines, next, unsearched.
    """
    with open_client() as client:
        query = LogQuery(
            pattern=pattern,
            regex=regex,
            ignore_case=ignore_case,
            run_ids=tuple(client.runs.get(ref).id for ref in runs),
            family_id=refs.family_id(client, family) if family else None,
            benchmark=benchmark,
            commit=commit,
            labels=mapping(labels),
            since_s=since,
            until_s=until,
            streams=(only,) if only else (STDOUT, STDERR),
            role=role,
            rank=rank,
            context=context,
            limit=limit,
            after=_place(after),
        )
        lines: list[FoundLine] = []
        unsearched: dict[str, str] = {}
        rest: LogPlace | None = None
        for page in _pages(client, query):
            if not as_json:
                _show(client, page)
            lines += page.lines
            unsearched |= {each.run_id: each.reason for each in page.unsearched}
            rest = page.next
    if as_json:
        json_output.show(
            {
                "lines": list(map(line_to_json, lines)),
                "next": cursor_of(rest) if rest else None,
                "unsearched": [{"run_id": run_id, "reason": why} for run_id, why in unsearched.items()],
            }
        )
        return
    for run_id, why in unsearched.items():
        terminal.warn(f"the output of run {run_id} was not searched: {why}")
    if rest:
        terminal.note(f"more lines may match: add --after {cursor_of(rest)}")
    elif not lines:
        terminal.note("no line matches")


def _place(cursor: str | None) -> LogPlace | None:
    return place_of(cursor) if cursor else None


def _pages(client: "Client", query: LogQuery) -> Iterator[LogPage]:
    """Pages until the limit of the query, or to the end."""
    left = query.limit
    while True:
        page = client.records.search(query)
        yield page
        left -= len(page.lines)
        if page.next is None or not left:
            return
        query = replace(query, after=page.next, limit=left)


def _show(client: "Client", page: LogPage) -> None:
    """One line for each line, with those around it after a minus sign."""
    short = client.runs.short_ids({line.run_id for line in page.lines}) if page.lines else {}
    for line in page.lines:
        place = f"{short[line.run_id]} {line.benchmark} {_stream(line)}"
        first = line.line - len(line.before)
        for number, text in enumerate(line.before, first):
            terminal.line(terminal.style(f"{place}:{number}- {text}", dim=True))
        terminal.line(f"{terminal.style(place, fg='cyan')}:{line.line}: {_highlighted(line)}")
        for number, text in enumerate(line.after, line.line + 1):
            terminal.line(terminal.style(f"{place}:{number}- {text}", dim=True))


def _stream(line: FoundLine) -> str:
    replica = "" if (line.role, line.rank) == (BENCHMARK, FIRST_RANK) else f"[{line.role} {line.rank}] "
    attempt = "" if line.attempt == 1 else f"attempt {line.attempt} "
    return f"{attempt}{replica}{line.stream}"


def _highlighted(line: FoundLine) -> str:
    """The text with its matching parts in a colour, and marks where it is cut."""
    shown, at = "... " if line.cut[0] else "", 0
    for start, end in line.highlights:
        shown += line.text[at:start]
        shown += terminal.style(line.text[start:end], fg="red", bold=True) if end > start else ""
        at = end
    return shown + line.text[at:] + (" ..." if line.cut[1] else "")
