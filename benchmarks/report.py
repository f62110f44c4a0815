"""What a bench reports: tables, printed as Markdown and stored as JSON, from which the documentation is generated.

A bench makes a ``Report``, adds its tables and saves them where ``--json`` says. ``docs/generate.py`` copies the tables of
``benchmarks/results`` into the pages, so that a page contains what a bench printed.
"""

import hashlib
import json
import os
import platform
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

RESULTS = Path(__file__).parent / "results"
PACKAGE = Path(__file__).parents[1] / "src" / "anubis"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _machine() -> str:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    system = f"{platform.system()} {platform.release()}, {platform.python_implementation()} {platform.python_version()}"
    return f"{os.cpu_count()} cores of {_processor()}, {memory:.0f} GiB of memory, {system}"


def digest_of(code: Sequence[str]) -> str:
    """Digest of modules and packages of Anubis, given as paths."""
    digest = hashlib.sha256()
    modules = {
        path
        for one in code
        for path in ([PACKAGE / one] if one.endswith(".py") else (PACKAGE / one).rglob("*.py"))
    }
    for path in sorted(modules):
        digest.update(path.relative_to(PACKAGE).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


@dataclass(frozen=True)
class Table:
    """Cells as text; the first row has the titles of the columns."""

    rows: list[list[str]]

    def markdown(self) -> str:
        titles, *rows = self.rows
        lines = [titles, ["---"] * len(titles), *rows]
        return "\n".join(
            "|" + "|".join(f" {cell} " if cell else " " for cell in line) + "|" for line in lines
        )


@dataclass
class Report:
    """The tables of one execution of a bench and the conditions it ran under."""

    #: Whether sizes were reduced; such a report is not published.
    quick: bool
    date: str = field(default_factory=lambda: time.strftime("%Y-%m-%d", time.gmtime()))
    machine: str = field(default_factory=_machine)
    #: Load average of the last minute before the bench started: what other programs used, in cores.
    load: float = field(default_factory=lambda: round(os.getloadavg()[0], 1))
    #: Modules and packages whose results do not depend on the machine ("analysis/changes"); none for measurements of time.
    code: Sequence[str] = ()
    #: Their digest when they were measured.
    digest: str = ""
    tables: dict[str, Table] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.code and not self.digest:
            self.digest = digest_of(self.code)

    def add(self, name: str, rows: list[list[str]], *, title: str) -> None:
        """Add a table and print it. ``rows`` begin with the titles of the columns."""
        self.tables[name] = Table(rows)
        print(f"\n{title}\n\n{self.tables[name].markdown()}", flush=True)

    def conditions(self) -> str:
        """Date, machine and load as sentences, and what makes the values doubtful."""
        busy = " Other programs were running: repeat times before relying on them." if self.load > 0.5 else ""
        changed = bool(self.code) and self.digest != digest_of(self.code)
        old = f" **Code has changed since: {', '.join(self.code)}.**" if changed else ""
        return f"Measured on {self.date}: {self.machine}; load average {self.load:g} at the start.{busy}{old}"

    def save(self, path: Path | None) -> None:
        """Print the conditions; write everything to ``path`` unless it is None."""
        print(f"\n{self.conditions()}")
        if path:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(asdict(self), indent=1, ensure_ascii=False) + "\n")


def load(name: str) -> Report:
    """The stored report of a bench. Raises ValueError for one of a quick run."""
    path = RESULTS / f"{name}.json"
    stored = json.loads(path.read_text())
    if stored["quick"]:
        raise ValueError(f"{path} is of a quick run: measure again without --quick")
    tables = {key: Table(**table) for key, table in stored.pop("tables").items()}
    return Report(**stored, tables=tables)


def published(part: str) -> str:
    """The text of a part of a page: BENCH.TABLE, or BENCH.conditions."""
    bench, _, name = part.partition(".")
    stored = load(bench)
    return stored.conditions() if name == "conditions" else stored.tables[name].markdown()


def add_option(parser) -> None:
    """Add ``--json`` to the options of a bench."""
    parser.add_argument("--json", type=Path, metavar="FILE", help="store the tables in FILE")


def bar_state(value: float, bar: float) -> str:
    """Whether a value is at most its bar, as text."""
    return "met" if value <= bar else "**missed**"
