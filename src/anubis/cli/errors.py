"""Error messages on standard error: one sentence for the error, one for the remedy."""

import json
import os
import tempfile
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from anubis.cli import exit_codes, terminal
from anubis.late import late
from anubis.model.errors import AnubisError, BadInputError, DamagedDatabaseError
from anubis.model.problem import Problem
from anubis.reporting.markup import visible_json
from anubis.settings import Settings

if TYPE_CHECKING:
    from anubis.api import errors as api_errors
    from anubis.store.sql import sqlite_backups as backups
else:  # only some errors need them
    api_errors = late("anubis.api.errors")
    backups = late("anubis.store.sql.sqlite_backups")


def report(error: Exception, *, as_json: bool) -> int:
    """Print an error; the exit status. With ``as_json`` as one JSON object, also on standard error."""
    if isinstance(error, AnubisError):
        problems = error.problems if isinstance(error, BadInputError) else ()
        file = error.file if isinstance(error, BadInputError) else ""
        if as_json:
            _print_json(error.message, error.remedy, error.exit_code, file=file, problems=problems)
        else:
            terminal.error(error.message)
            show_problems(problems, file=file)
            if error.remedy:
                terminal.remedy(error.remedy)
        return error.exit_code
    if damage := _damage():
        return report(damage, as_json=as_json)
    where = _keep_traceback(error)
    message = f"a defect in Anubis: {type(error).__name__}: {error}"
    remedy = f"please report it with the traceback in {where}"
    if as_json:
        _print_json(message, remedy, exit_codes.DEFECT)
    else:
        terminal.error(message)
        terminal.remedy(remedy)
    return exit_codes.DEFECT


def report_usage(error: click.ClickException, *, as_json: bool) -> int:
    """Print an error of the command line itself; the exit status."""
    ctx = error.ctx if isinstance(error, click.UsageError) else None
    remedy = f"see {ctx.command_path} --help" if ctx else ""
    if ctx and isinstance(error, click.exceptions.NoArgsIsHelpError):
        message = f"{ctx.command_path} needs a command"
        if isinstance(ctx.command, click.Group):
            remedy = f"use one of: {', '.join(ctx.command.list_commands(ctx))}; {remedy}"
    else:
        message = error.format_message().rstrip(".")
        message = message[:1].lower() + message[1:]
    if as_json:
        _print_json(message, remedy, exit_codes.BAD_INPUT)
        return exit_codes.BAD_INPUT
    terminal.error(message)
    if remedy:
        terminal.remedy(remedy)
    return exit_codes.BAD_INPUT


def show_problems(problems: Sequence[Problem], *, file: str = "") -> None:
    """Print each problem as ``FILE:LINE:COLUMN: path: message``, with its remedy below."""
    for problem in problems:
        terminal.line(f"  {located(problem, file)}", err=True)
        if problem.remedy:
            terminal.remedy(problem.remedy, indent="    ")


def located(problem: Problem, file: str) -> str:
    """``FILE:LINE:COLUMN: path: message``, which editors and CI logs turn into a link."""
    place = [problem.file or file] if problem.file or file else []
    if problem.line:
        place += [str(problem.line), str(problem.column or 1)]
    head = [":".join(place)] if place else []
    return ": ".join([*head, *([problem.path] if problem.path else []), problem.message])


def _print_json(
    message: str, remedy: str, exit_code: int, *, file: str = "", problems: Sequence[Problem] = ()
) -> None:
    plain = api_errors.error_to_json(message, remedy, exit_code, file=file, problems=problems)
    terminal.line(visible_json(json.dumps(plain, ensure_ascii=False)), err=True)


def _damage() -> AnubisError | None:
    """The damage of the database, of which an unexpected error may be the consequence."""
    try:
        backups.check(backups.path_of(Settings.from_env(os.environ).database_url))
    except DamagedDatabaseError as damage:
        return damage
    except Exception:  # noqa: BLE001  the unexpected error is reported
        return None
    return None


def _keep_traceback(error: Exception) -> str:
    with tempfile.NamedTemporaryFile(
        "w", prefix="anubis-traceback-", suffix=".txt", delete=False, encoding="utf-8"
    ) as file:
        traceback.print_exception(error, file=file)
    return file.name


def warned(file: Path, problem: Problem) -> None:
    """Print a warning about a descriptor that is accepted."""
    terminal.warn(located(problem, str(file)))
    if problem.remedy:
        terminal.remedy(problem.remedy, indent="  ")
