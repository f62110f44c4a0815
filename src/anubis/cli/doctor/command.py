"""``anubis doctor``: whether runs will work here, and whether their figures can be trusted."""

import os
from collections.abc import Sequence
from dataclasses import asdict

import click

from anubis.cli import exit_codes
from anubis.cli.doctor.installation_checks import Check, State, installation
from anubis.cli.doctor.machine_checks import knobs
from anubis.cli.doctor.noise_floor import BUDGET_S, RUNS, Noise, measured
from anubis.cli.params import json_option
from anubis.cli.views import json_output, tables, units
from anubis.settings import Settings

_COLOURS = {State.OK: "green", State.WARN: "yellow", State.FAIL: "red"}


@click.command()
@click.option("--noise", is_flag=True, help=f"Measure this machine's noise floor ({2 * BUDGET_S:g} s).")
@json_option
def doctor(*, noise: bool, as_json: bool) -> int:
    """Check this installation, and what disturbs measurements here.

    Exits 1 when something would keep runs from working; warnings are about the quality of their figures.
    """
    checks = [*installation(Settings.from_env(os.environ)), *knobs()]
    if not as_json:
        _show(checks)
    found = list(measured()) if noise else []
    if as_json:
        json_output.show(
            {"checks": [asdict(check) for check in checks], "noise": [asdict(each) for each in found]}
        )
    elif found:
        click.echo()
        _show_noise(found)
    return exit_codes.FAILED if any(check.state is State.FAIL for check in checks) else exit_codes.OK


def _show(checks: Sequence[Check]) -> None:
    width = max(len(check.name) for check in checks)
    for check in checks:
        state = click.style(f"{check.state.value:4}", fg=_COLOURS[check.state])
        click.echo(f"{state}  {check.name:{width}}  {check.found}")
        if check.remedy:
            click.echo(f"      {'':{width}}  help: {check.remedy}")


def _show_noise(found: Sequence[Noise]) -> None:
    columns = (
        tables.Column(title="KERNEL"),
        tables.Column(title="EXECUTIONS", right=True),
        tables.Column(title="TIME", right=True),
        tables.Column(title="VARIATION", right=True),
        tables.Column(title="NOISE FLOOR", right=True),
        tables.Column(title=f"{RUNS}+{RUNS} RUNS SHOW", right=True),
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
            for noise in found
        ],
    )
    click.echo(
        f"A change smaller than the last column hides in the noise of this machine with {RUNS} runs a side."
    )
