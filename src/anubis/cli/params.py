"""Options, arguments and their types that several commands share."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from anubis.cli.select import refs
from anubis.cli.views import units
from anubis.model.status import Status
from anubis.reporting.status_words import WORDS

PROGRAM = "anubis"
#: Environment variable with which a shell requests completions.
VARIABLE = "_ANUBIS_COMPLETE"


class _Parsed(click.ParamType[Any]):
    """A parameter type with a parsing function; the text of its ValueError is the error message."""

    def __init__(self, name: str, read: Callable[[str], Any]) -> None:
        self.name = name
        self._read = read

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return self._read(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise ValueError(f"expected a name and a value with = between them, got {text!r}")
    return key, value


#: ``key=value``.
PAIR = _Parsed("key=value", _pair)
#: A time as UTC seconds.
MOMENT = _Parsed("time", lambda text: units.parse_moment(text, now_s=time.time()))
#: A span of time as seconds.
SPAN = _Parsed("span", units.parse_span)
#: A size as bytes.
SIZE = _Parsed("size", units.parse_size)
#: A ratio.
SHARE = _Parsed("share", units.parse_share)


class _StatusWord(click.Choice[str]):
    """A status by its word; the names in JSON are accepted too."""

    name = "status"

    def __init__(self) -> None:
        super().__init__(list(WORDS.values()))

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value in list(Status):
            return Status(value)
        word = super().convert(value, param, ctx)
        return next(status for status, known in WORDS.items() if known == word)


class Renamed(click.Option):
    """An option with further, old names, which are accepted but not shown."""

    def get_error_hint(self, ctx: click.Context | None) -> str:  # noqa: ARG002  click's signature
        return f"'{self.opts[0]}'"

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        record = super().get_help_record(ctx)
        if record is None:
            return None
        shown, text = record
        for old in self.opts[1:]:
            shown = shown.replace(f", {old}", "")
        return shown, text


class _Ref(click.ParamType[str]):
    """A run reference; the shell completes it from the latest runs."""

    name = "run"

    def shell_complete(
        self,
        ctx: click.Context,  # noqa: ARG002  click's signature
        param: click.Parameter,  # noqa: ARG002
        incomplete: str,
    ) -> list[CompletionItem]:
        return [CompletionItem(ref, help=text) for ref, text in refs.completions(incomplete)]


REF = _Ref()


class _ScheduleRef(click.ParamType[str]):
    """A reference to a schedule; the shell completes it from the names."""

    name = "schedule"

    def shell_complete(
        self,
        ctx: click.Context,  # noqa: ARG002  click's signature
        param: click.Parameter,  # noqa: ARG002
        incomplete: str,
    ) -> list[CompletionItem]:
        return [CompletionItem(name, help=text) for name, text in refs.schedule_completions(incomplete)]


SCHEDULE = _ScheduleRef()


def ref_argument(function: Callable[..., Any]) -> Callable[..., Any]:
    """The argument for one run; default: the last run."""
    return click.argument("ref", type=REF, default=refs.LAST, metavar="[RUN]")(function)


def family_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """``--family``: all runs of the run's family instead of only the run."""
    return click.option(
        "--family", is_flag=True, help="Include all runs of the same family (submitted together)."
    )(function)


def json_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """``--json`` for scripts."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON for scripts.")(function)


def overrides_option(meaning: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """``--set PATH=VALUE``: fields of the descriptor to override."""
    return click.option(
        "--set", "overrides", type=PAIR, multiple=True, metavar="PATH=VALUE", help=f"{meaning}; repeatable."
    )


def overlay_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """``--overlay FILE``: files that change the descriptor."""
    return click.option(
        "--overlay",
        "overlays",
        type=click.Path(path_type=Path),
        multiple=True,
        metavar="FILE",
        help="TOML file whose values replace those of the descriptor; repeatable, later files win.",
    )(function)


def labels_option(meaning: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """``--label KEY=VALUE``: only what has these labels."""
    return click.option(
        "--label", "labels", type=PAIR, multiple=True, metavar="KEY=VALUE", help=f"{meaning}; repeatable."
    )


def mean_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """``--mean``: the geometric mean, also over metrics that have no common unit or direction."""
    return click.option(
        "--mean",
        is_flag=True,
        help="Show the geometric mean even of metrics with different units or directions.",
    )(function)


def run_filters(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options that select runs of a listing: benchmark, commit, labels, status, times, family."""
    options = (
        click.option(
            "--benchmark", "--name", "name", cls=Renamed, metavar="NAME", help="Only runs of this benchmark."
        ),
        click.option(
            "--commit", metavar="COMMIT", help="Only runs of this commit or version; a prefix is sufficient."
        ),
        labels_option("Only runs with this label"),
        click.option(
            "--status",
            "statuses",
            type=_StatusWord(),
            multiple=True,
            metavar="STATUS",
            help="Only runs with this status (queued, running, succeeded, failed ...); repeatable.",
        ),
        click.option(
            "--since",
            type=MOMENT,
            metavar="TIME",
            help="Only runs submitted since then: 2026-01-31, 2026-01-31T12:00, 2h, 3d.",
        ),
        click.option("--until", type=MOMENT, metavar="TIME", help="Only runs submitted until then."),
        click.option("--family", type=REF, metavar="RUN", help="Only runs of this run's family."),
    )
    for option in reversed(options):  # click shows the option first that is applied last
        function = option(function)
    return function


def mapping(pairs: Sequence[tuple[str, str]]) -> dict[str, str]:
    """The pairs of a repeated ``key=value`` option; the last value of a key is used."""
    return dict(pairs)
