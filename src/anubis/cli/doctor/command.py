"""``anubis doctor``: checks of the installation and of the machine."""

import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click

from anubis.cli import exit_codes, terminal
from anubis.cli.doctor import controls as aa_controls
from anubis.cli.doctor import noise_advice
from anubis.cli.doctor.installation_checks import Check, State, installation
from anubis.cli.doctor.left_governors import left_governors
from anubis.cli.doctor.machine_checks import machine_checks
from anubis.cli.doctor.noise_floor import BUDGET_S, RUNS, Noise, measured
from anubis.cli.home import open_client
from anubis.cli.params import json_option
from anubis.cli.select.gate_sides import CONTROL_ROUNDS
from anubis.cli.views import json_output, tables, units
from anubis.model.errors import BadInputError, DamagedSamplesError
from anubis.pipeline.host.resources import FOLDER
from anubis.settings import Settings
from anubis.store.sql import sqlite_backups as backups

_COLOURS = {State.OK: "green", State.WARN: "yellow", State.FAIL: "red"}


@click.command()
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option(
    "--noise",
    is_flag=True,
    help=f"Measure this machine's noise floor and say what to change ({3 * BUDGET_S:g} s).",
)
@click.option(
    "--database", is_flag=True, help="Only read the whole database and check its structure and samples."
)
@click.option(
    "--control",
    is_flag=True,
    help="Measure A/A controls of the descriptor FILE: how often equal code looks different on this machine.",
)
@click.option(
    "--controls",
    type=click.IntRange(1, 1000),
    metavar="N",
    help=f"Number of controls (default: {aa_controls.CONTROLS}).",
)
@click.option(
    "--rounds",
    type=click.IntRange(1, 1000),
    metavar="N",
    help=f"Rounds of each control (default: {CONTROL_ROUNDS}).",
)
@json_option
def doctor(
    *,
    file: Path | None,
    noise: bool,
    database: bool,
    control: bool,
    controls: int | None,
    rounds: int | None,
    as_json: bool,
) -> int:
    """Check this installation, and the machine for sources of noise.

    Exits 1 if runs cannot work here, or if a benchmark fails in a control; 2 if the database is damaged. Warnings, also
    about the rate of false controls, are about the precision of measurements.
    """
    if control != (file is not None) or (not control and (controls or rounds)):
        raise BadInputError(
            "--control, FILE, --controls and --rounds belong together",
            remedy="measure controls with anubis doctor --control FILE",
        )
    if database:
        return _check_database(as_json=as_json)
    settings = Settings.from_env(os.environ)
    machine = [*machine_checks(), *left_governors(settings.home / FOLDER)]
    checks = [*installation(settings), *machine]
    if not as_json:
        _show(checks)
    results = list(measured()) if noise else []
    changes = list(noise_advice.advice(machine, results)) if noise else []
    found = _controls(file, controls, rounds) if file else None
    if as_json:
        json_output.show(
            {
                "checks": [asdict(check) for check in checks],
                "noise": [asdict(each) for each in results],
                "advice": [asdict(each) for each in changes],
                "controls": asdict(found.rate) if found and found.rate else None,
            }
        )
    else:
        _show_measured(results, changes, found)
    is_broken = any(check.state is State.FAIL for check in checks) or (found is not None and found.failed)
    return exit_codes.FAILED if is_broken else exit_codes.OK


def _controls(file: Path, count: int | None, rounds: int | None) -> aa_controls.Controls:
    with open_client() as client:
        return aa_controls.measured(client, file, count=count or aa_controls.CONTROLS, rounds=rounds)


def _show_measured(
    noise: Sequence[Noise], changes: Sequence[noise_advice.Advice], found: aa_controls.Controls | None
) -> None:
    if noise:
        terminal.line()
        _show_noise(noise)
        for line in noise_advice.lines(changes):
            terminal.line(line)
    if found:
        terminal.line()
        for line in aa_controls.lines(found):
            terminal.line(line)


def _check_database(*, as_json: bool) -> int:
    """Raises DamagedDatabaseError or DamagedSamplesError, which say how to restore them."""
    path = backups.path_of(Settings.from_env(os.environ).database_url)
    backups.check(path)
    if damaged := backups.damaged_samples(path):
        raise DamagedSamplesError.of_several(damaged)
    whole = Check("database", State.OK, f"{path} ({units.size(path.stat().st_size)}), no damage found")
    if as_json:
        json_output.show({"checks": [asdict(whole)], "noise": [], "advice": [], "controls": None})
    else:
        _show([whole])
    return exit_codes.OK


def _show(checks: Sequence[Check]) -> None:
    width = max(len(check.name) for check in checks)
    for check in checks:
        state = terminal.style(f"{check.state.value:4}", fg=_COLOURS[check.state])
        terminal.line(f"{state}  {check.name:{width}}  {check.found}")
        if check.remedy:
            terminal.line(f"      {'':{width}}  help: {check.remedy}")


def _show_noise(results: Sequence[Noise]) -> None:
    columns = (
        tables.Column(title="KERNEL"),
        tables.Column(title="EXECUTIONS", right=True),
        tables.Column(title="TIME", right=True),
        tables.Column(title="VARIATION", right=True),
        tables.Column(title="NOISE FLOOR", right=True),
        tables.Column(title=f"{RUNS}+{RUNS} RUNS DETECT", right=True),
    )
    tables.show(
        columns,
        [
            [
                noise.kernel,
                str(noise.executions),
                units.duration(noise.mean_s),
                units.share(noise.variation),
                units.share(noise.noise_floor),
                units.share(noise.detectable),
            ]
            for noise in results
        ],
    )
    terminal.line(
        f"With {RUNS} runs on each side, changes smaller than the last column are not detected on this machine."
    )
