"""Joined workers as tables."""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from anubis.cli import terminal
from anubis.cli.views import tables, units
from anubis.model.ids import short_id

if TYPE_CHECKING:
    from anubis.client.protocol.tools import WorkerNow


def show(found: "Sequence[WorkerNow]") -> None:
    """A table of joined workers."""
    columns = (
        tables.Column(title="WORKER"),
        tables.Column(title="HOST", cut=True),
        tables.Column(title="RUNS", right=True),
        tables.Column(title="SLOTS", right=True),
        tables.Column(title="ENGINES"),
        tables.Column(title="LABELS", cut=True),
        tables.Column(title="LAST SEEN"),
        tables.Column(title="NOW", cut=True),
    )
    tables.show(columns, [_row(each) for each in found])


def show_one(found: "WorkerNow") -> None:
    """Everything about a joined worker."""
    worker = found.worker
    rows = [
        ("worker", worker.name),
        ("host", worker.host),
        ("token made", units.moment(worker.created_s)),
        ("token revoked", "" if worker.revoked_s is None else units.moment(worker.revoked_s)),
        ("last seen", _seen(worker.seen_s)),
        ("release", f"{worker.release} (protocol {worker.protocol})" if worker.release else ""),
        ("slots", str(worker.slots)),
        ("engines", ", ".join(worker.engines)),
        ("labels", ", ".join(worker.labels)),
        *_machine(worker.facts),
    ]
    for line in tables.pairs([row for row in rows if row[1]], width=terminal.width()):
        terminal.line(line)
    if found.attempts:
        terminal.line()
        columns = (
            tables.Column(title="RUN"),
            tables.Column(title="ATTEMPT", right=True),
            tables.Column(title="STATE"),
            tables.Column(title="SINCE"),
            tables.Column(title="REASON", cut=True),
        )
        tables.show(
            columns,
            [
                [
                    each.run_id,
                    str(each.attempt),
                    "is cancelled" if each.cancel else each.seen.value,
                    units.moment(each.assigned_s or each.queued_s),
                    each.reason,
                ]
                for each in found.attempts
            ],
        )


def _row(now: "WorkerNow") -> list[tables.Cell]:
    worker = now.worker
    return [
        worker.name,
        worker.host,
        str(len(now.attempts)),
        str(worker.slots) if worker.host else "",
        ", ".join(worker.engines),
        ", ".join(worker.labels),
        "token revoked" if worker.revoked_s is not None else _seen(worker.seen_s),
        " ".join(short_id(each.run_id) for each in now.attempts),
    ]


def _seen(seen_s: float | None) -> str:
    """How long ago a worker sent its last request. One that waits sends a request every third of a lease."""
    return "never" if seen_s is None else f"{units.duration(max(0.0, time.time() - seen_s))} ago"


def _machine(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """CPU, memory and system, as far as they are known."""

    def part(section: str, name: str) -> Any:
        known = facts.get(section)
        return known.get(name) if isinstance(known, dict) else None

    memory = part("memory", "total_bytes")
    return [
        ("cpu", str(part("cpu", "model") or "")),
        ("memory", units.size(memory) if isinstance(memory, int | float) else ""),
        ("kernel", str(part("system", "kernel") or "")),
        ("fingerprint", str(facts.get("fingerprint") or "")),
    ]
