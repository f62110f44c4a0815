"""``anubis doctor``: checks of the installation and of the machine."""

import os
from collections.abc import Sequence
from dataclasses import asdict

import click

from anubis.cli import exit_codes, terminal
from anubis.cli.doctor.installation_checks import Check, State, installation
from anubis.cli.doctor.machine_checks import machine_checks
from anubis.cli.doctor.noise_floor import BUDGET_S, RUNS, Noise, measured
from anubis.cli.params import json_option
from anubis.cli.views import json_output, tables, units
from anubis.model.errors import DamagedSamplesError
from anubis.settings import Settings
from anubis.store.sql import sqlite_backups as backups

_COLOURS = {State.OK: "green", State.WARN: "yellow", State.FAIL: "red"}


@click.command()
@click.option("--noise", is_flag=True, help=f"Measure this machine's noise floor ({2 * BUDGET_S:g} s).")
@click.option(
    "--database", is_flag=True, help="Only read the whole database and check its structure and samples."
)
@json_option
def doctor(*, noise: bool, database: bool, as_json: bool) -> int:
    """Check this installation, and the machine for sources of noise.

    Exits 1 if runs cannot work here, 2 if the database is damaged; warnings are about the precision of measurements.
    """
    if database:
        return _check_database(as_json=as_json)
    checks = [*installation(Settings.from_env(os.environ)), *machine_checks()]
    if not as_json:
        _show(checks)
    results = list(measured()) if noise else []
    if as_json:
        json_output.show(
            {"checks": [asdict(check) for check in checks], "noise": [asdict(each) for each in results]}
        )
    elif results:
        terminal.line()
        _show_noise(results)
    return exit_codes.FAILED if any(check.state is State.FAIL for check in checks) else exit_codes.OK


def _check_database(*, as_json: bool) -> int:
    """Raises DamagedDatabaseError or DamagedSamplesError, which say how to restore them."""
    path = backups.path_of(Settings.from_env(os.environ).database_url)
    backups.check(path)
    if damaged := backups.damaged_samples(path):
        raise DamagedSamplesError.of_several(damaged)
    whole = Check("database", State.OK, f"{path} ({units.size(path.stat().st_size)}), no damage found")
    if as_json:
        json_output.show({"checks": [asdict(whole)], "noise": []})
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
