"""``anubis record sign``, ``verify`` and ``seal``: whether results are those that were measured."""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from anubis.cli import exit_codes, terminal
from anubis.cli.home import open_client
from anubis.cli.params import json_option
from anubis.cli.views import json_output, tables, units
from anubis.late import late
from anubis.model.errors import AnubisError, BadInputError

if TYPE_CHECKING:
    from anubis.sealing import chain, sealer, signatures
    from anubis.transfer import run_archive
else:  # other commands of records need none of them
    chain = late("anubis.sealing.chain")
    sealer = late("anubis.sealing.sealer")
    run_archive = late("anubis.transfer.run_archive")
    signatures = late("anubis.sealing.signatures")

_PATH = click.Path(path_type=Path, dir_okay=False)
_EXISTING = click.Path(path_type=Path, dir_okay=False, exists=True)
#: Damaged runs that are listed.
_LISTED = 20
#: Runs between two messages about the progress.
_SHOWN_EVERY = 500


@click.command()
@click.argument("files", type=_EXISTING, nargs=-1, required=True, metavar="FILE...")
@click.option(
    "--key",
    type=_EXISTING,
    required=True,
    metavar="KEY",
    help="The private key of SSH to sign with, or its public part if ssh-agent has the key.",
)
@json_option
def sign(*, files: tuple[Path, ...], key: Path, as_json: bool) -> None:
    """Sign exported runs with an SSH key.

    The signature of FILE is FILE.sig; it can also be checked with ssh-keygen. Prints the names of the signatures.
    """
    for file in files:
        _archive(file)
    signed = [signatures.sign(file, key) for file in files]
    if as_json:
        json_output.show({"signatures": [str(path) for path in signed]})
    else:
        terminal.line("\n".join(map(str, signed)))


@click.command()
@json_option
def seal(*, as_json: bool) -> None:
    """Add the final runs that are missing in the chain of this home folder to it.

    Runs are added when they end. Missing are runs that ended before the chain existed, or whose driver was killed as
    they ended. Prints their ids.
    """
    with open_client() as client:
        added = client.records.seal()
    if as_json:
        json_output.show({"added": added})
    else:
        terminal.line("\n".join(added) or "no run was missing")


def _head(_ctx: click.Context, _param: click.Parameter, text: str | None) -> "chain.Head | None":
    try:
        return None if text is None else chain.Head.of(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


@click.command()
@click.argument("files", type=_EXISTING, nargs=-1, metavar="[FILE...]")
@click.option(
    "--signers",
    type=_EXISTING,
    metavar="FILE",
    help="The accepted signers and their keys, one for each line, in the format of ssh-keygen.",
)
@click.option("--unsigned", is_flag=True, help="Accept exported runs without a signature.")
@click.option(
    "--chain",
    "chain_file",
    type=_EXISTING,
    metavar="FILE",
    help="Compare with this copy of a chain (chain.jsonl).",
)
@click.option(
    "--head",
    callback=_head,
    metavar="NUMBER:SHA256",
    help="A head of the chain that was noted or published earlier: the chain must contain it.",
)
@json_option
def verify(
    *,
    files: tuple[Path, ...],
    signers: Path | None,
    unsigned: bool,
    chain_file: Path | None,
    head: "chain.Head | None",
    as_json: bool,
) -> int:
    """Check that exported runs, or all runs of this home folder, are as they were measured.

    With FILE: its content matches its digests, its signature and, with --chain, the chain of the home folder where it
    was measured. Without FILE: each run matches the chain of this home folder. The exit status is 1 if anything differs.
    """
    if not files:
        if signers or unsigned or chain_file:
            raise BadInputError(
                "--signers, --unsigned and --chain need an exported run", remedy="name its file"
            )
        return _verify_home(head, as_json=as_json)
    if head and chain_file is None:
        raise BadInputError("--head needs --chain when files are verified", remedy="add --chain chain.jsonl")
    entries = _entries(chain_file, head) if chain_file else None
    results = [_verified(file, signers, entries, unsigned=unsigned) for file in files]
    if as_json:
        json_output.show_list(results)
    else:
        for result in results:
            terminal.line(_line(result))
    return exit_codes.OK if all(result["ok"] for result in results) else exit_codes.FAILED


def _verified(
    file: Path, signers: Path | None, entries: "Mapping[str, chain.Entry] | None", *, unsigned: bool
) -> dict[str, Any]:
    """The result for one exported run."""
    result: dict[str, Any] = {
        "file": str(file),
        "ok": False,
        "run": None,
        "key": None,
        "signer": None,
        "chain": entries is not None,
        "problem": "",
    }
    try:
        run_id, now = _archive(file)
        result["run"] = run_id
        if not unsigned or signatures.signature_of(file).exists():
            found = signatures.check(file, signers=signers)
            result |= {"key": found.key, "signer": found.signer or None}
        if entries is not None:
            _compare(run_id, now, entries)
        result["ok"] = True
    except AnubisError as error:
        result["problem"] = str(error)
    return result


def _compare(run_id: str, now: Mapping[str, str], entries: "Mapping[str, chain.Entry]") -> None:
    entry = entries.get(run_id)
    if entry is None:
        raise AnubisError(f"the chain does not contain run {run_id}")
    if changed := sealer.differences(entry.digests, now):
        raise AnubisError(f"it differs from the chain: {', '.join(changed)}")


def _archive(file: Path) -> tuple[str, dict[str, str]]:
    """The id of an exported run and its digests. Raises BadInputError for a file that is damaged, or is something else."""
    with tempfile.TemporaryDirectory(prefix="anubis-") as folder, file.open("rb") as stream:
        unpacked = run_archive.read(stream, file.stat().st_size, Path(folder))
        archived = unpacked.archived
        files = ((key, name, path.open("rb")) for (key, name), path in unpacked.files.items())
        return archived.run.id, sealer.digests(archived.run, archived.points, files)


def _entries(file: Path, head: "chain.Head | None") -> "Mapping[str, chain.Entry]":
    return sealer.last_entries(chain.RecordChain(file), head)[1]


def _line(result: Mapping[str, Any]) -> str:
    if not result["ok"]:
        return f"{result['file']}: FAILED: {result['problem']}"
    chained = ", as in the chain" if result["chain"] else ""
    if result["key"] is None:
        return f"{result['file']}: run {result['run']} is intact{chained}, not signed"
    by = f" by {result['signer']}" if result["signer"] else ""
    note = "" if result["signer"] else " (any key was accepted: --signers names those that you accept)"
    return f"{result['file']}: run {result['run']} is intact{chained}, signed{by} with the key {result['key']}{note}"


def _verify_home(head: "chain.Head | None", *, as_json: bool) -> int:
    with open_client() as client:
        report = client.records.compare_chain(known=head, progress=_progress)
    if as_json:
        json_output.show(
            {
                "head": str(report.head),
                "unchanged": report.unchanged,
                "purged": report.purged,
                "damaged": [
                    {"run": each.run_id, "missing": not each.changed, "changed": list(each.changed)}
                    for each in report.damaged
                ],
                "unsealed": list(report.unsealed),
            }
        )
    else:
        _show(report)
    return exit_codes.FAILED if report.damaged else exit_codes.OK


def _show(report: "sealer.ChainReport") -> None:
    rows = [("head", str(report.head)), ("unchanged", units.counted(report.unchanged, "run"))]
    if report.purged:
        rows.append(("purged", units.counted(report.purged, "run")))
    for line in tables.pairs(rows):
        terminal.line(line)
    for each in report.damaged[:_LISTED]:
        what = (
            f"changed: {', '.join(each.changed)}"
            if each.changed
            else "missing, and no entry says that it was purged"
        )
        terminal.line(f"run {each.run_id}: {what}")
    if len(report.damaged) > _LISTED:
        terminal.line(f"and {len(report.damaged) - _LISTED} more (--json lists all)")
    if report.unsealed:
        terminal.note(
            f"{units.counted(len(report.unsealed), 'final run')} not in the chain (anubis record seal adds them)"
        )


def _progress(done: int, count: int) -> None:
    if done and done % _SHOWN_EVERY == 0:
        terminal.progress(f"{done} of {count} runs compared")
