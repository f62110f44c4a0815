"""Draw the terminal pictures of the pages from sessions with the program: python docs/pictures.py [--check]

The sessions run each time. Only the measured values of the training come from files, so that drawing takes seconds and
shows the same figures each time; --measure NAME writes such a file from real runs of examples/sklearn-digits, which takes
minutes on a quiet machine. With --check nothing is written; the exit code is 1 if a picture does not show what the program
prints.
"""

import argparse
import csv
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
from itertools import zip_longest
from pathlib import Path
from xml.etree import ElementTree as ET

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

ROOT = Path(__file__).parent.parent
DIGITS = ROOT / "examples" / "sklearn-digits"
PICTURES = ROOT / "docs" / "assets" / "terminal"
ROUNDS = 8
#: Epochs of each training of history.csv.
HISTORY = [12] * 24 + [5] * 8
#: Prints the measured values of one side instead of training, a run after the other.
STAND_IN = """
import csv, pathlib, sys
rows = [row for row in csv.DictReader(open("measured.csv")) if row["version"] == "batch-" + sys.argv[2]]
done = pathlib.Path("done-" + sys.argv[2])
number = len(done.read_bytes()) if done.exists() else 0
done.write_bytes(b"." * (number + 1))
print("epoch 1:", rows[number]["throughput"], "images/s")
print('{"accuracy": %s}' % rows[number]["accuracy"])
"""
NAMED = "#c9d1d9 #f4777f #7ee08a #e3b95c #79b8ff #d2a8ff #5fd4dd #f0f3f6"
FOREGROUND, BACKGROUND, *COLOURS = [
    tuple(bytes.fromhex(colour[1:])) for colour in f"#d5dae1 #15181e {NAMED}".split()
]
THEME = TerminalTheme(BACKGROUND, FOREGROUND, COLOURS, COLOURS)
SVG = """\
<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font: {char_height}px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal"><rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/></clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


class Session:
    """Commands in one working folder, with an empty home folder; a terminal shows what they print."""

    def __init__(self, folder, home, width=100):
        self.folder = folder
        ours = {
            "ANUBIS_HOME": str(home),
            "ANUBIS_CLIENT_ID": "you",
            "TERM": "xterm-256color",
            "TZ": "UTC",
            "COLUMNS": str(width),
        }
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("ANUBIS_", "NO_COLOR"))
        }
        self._environment = {**kept, **ours, "PATH": path}
        self.text = Text()

    def type(self, command):
        """Run a command; add the line that was typed and its output to the text."""
        if self.text:
            self.text.append("\n")
        self.text.append("$ ", "green")
        self.text.append(f"{command}\n", "bold")
        self.text.append_text(Text.from_ansi(self.run(command).replace("\r", "").rstrip("\n")))
        self.text.append("\n")

    def run(self, command):
        """What a command prints on a terminal on standard output."""
        ours, theirs = os.openpty()
        with tempfile.TemporaryFile() as errors:
            process = subprocess.Popen(
                ["sh", "-c", command],
                cwd=self.folder,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=theirs,
                stderr=errors,
            )
            os.close(theirs)
            printed = b"".join(iter(lambda: read(ours), b""))
            os.close(ours)
            if process.wait() != 0:
                errors.seek(0)
                sys.exit(f"{command}\n{printed.decode()}{errors.read().decode()}")
        return printed.decode()


def read(terminal):
    try:
        return os.read(terminal, 65_536)
    except OSError:  # Linux reports EIO when the other end is closed
        return b""


def first_run(session):
    shutil.copytree(ROOT / "examples" / "hello-world", session.folder / "examples" / "hello-world")
    session.type("anubis run examples/hello-world/hello.toml")


def verdict(session):
    for name in ("baseline.toml", "contender.toml"):
        shutil.copy(DIGITS / name, session.folder)
    shutil.copy(PICTURES / "verdict.csv", session.folder / "measured.csv")
    (session.folder / "train.py").write_text(STAND_IN)
    session.type(f"anubis run baseline.toml contender.toml --rounds {ROUNDS}")


def history(session):
    shutil.copy(PICTURES / "history.csv", session.folder / "nightly.csv")
    session.type("anubis import nightly.csv")
    session.type("anubis series show sklearn-digits --metric accuracy")


#: Name of a picture -> its session and the columns of its terminal.
SESSIONS = {"first-run": (first_run, 92), "verdict": (verdict, 92), "history": (history, 132)}


def drawn(name):
    """(picture, text) of a session."""
    play, width = SESSIONS[name]
    with tempfile.TemporaryDirectory() as folder:
        session = Session(Path(folder, "work"), Path(folder, "home"), width)
        session.folder.mkdir()
        play(session)
    console = Console(
        record=True, width=width, file=io.StringIO(), color_system="truecolor", force_terminal=True
    )
    console.print(session.text, end="", highlight=False, soft_wrap=True)
    return console.export_svg(title="", theme=THEME, code_format=SVG, unique_id=name), session.text.plain


def text_of(picture):
    """The text that a picture shows."""
    lines = {}
    for element in ET.fromstring(picture).iter("{http://www.w3.org/2000/svg}text"):  # noqa: S314  our own file
        lines.setdefault(float(element.get("y")), []).append("".join(element.itertext()))
    return "\n".join("".join(parts) for _, parts in sorted(lines.items()))


def form(text):
    """The lines of a text without what differs between runs: ids, times, whether the machine was disturbed."""
    text = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "ID", text.replace("\xa0", " "))
    text = re.sub(r"(?m)^(cpu|wall)_time.*$", r"\1_time", text)
    text = re.sub(r"(?m)^peak_memory.*\n|\*", "", text)
    text = re.sub(r" in [\d.]+ m?s\b", " in TIME", text)
    return [line for line in (" ".join(line.split()) for line in text.splitlines()) if line]


def difference(picture, text):
    """The first line that a picture shows and the program does not print, with what it prints; None if they agree."""
    pairs = zip_longest(form(text_of(picture)), form(text), fillvalue="(nothing)")
    return next((f"{shown!r}, printed: {printed!r}" for shown, printed in pairs if shown != printed), None)


def measure_verdict(session):
    """Train both versions in turn."""
    session.run(f"anubis run baseline.toml contender.toml --rounds {ROUNDS}")
    runs = {}
    for row in exported(session):
        runs.setdefault(row["run"], {"version": row["version"]})[row["metric"]] = row["value"]
    written("verdict.csv", ["version", "throughput", "accuracy"], runs.values())


def measure_history(session):
    """Train one version after the other; the newest train too short."""
    for number, epochs in enumerate(HISTORY, 1):
        changed = (
            f"ml.args='--batch-size 128 --epochs {epochs}'",
            "measure.repeats=3",
            f"subject.version=1.{number}",
        )
        session.run(f"anubis run contender.toml {' '.join(f'--set {words}' for words in changed)}")
    columns = ["benchmark", "metric", "value", "units", "better", "time_s", "version", "contaminated"]
    rows = sorted(exported(session), key=lambda row: float(row["time_s"]))
    written("history.csv", columns, [row for row in rows if row["metric"] == "accuracy"])


def exported(session):
    return list(csv.DictReader(io.StringIO(session.run("anubis export --format csv").replace("\r", ""))))


def written(name, columns, rows):
    with (PICTURES / name).open("w", newline="") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


#: Name of a file -> what measures its values.
MEASURED = {"verdict": measure_verdict, "history": measure_history}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition(":")[0])
    parser.add_argument("--measure", choices=MEASURED)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    if options.measure:
        with tempfile.TemporaryDirectory() as folder:
            MEASURED[options.measure](Session(DIGITS, Path(folder)))
    stale = []
    for name in SESSIONS:
        file = PICTURES / f"{name}.svg"
        picture, text = drawn(name)
        shown = file.read_text() if file.exists() else '<svg xmlns="http://www.w3.org/2000/svg"/>'
        if changed := difference(shown, text):
            stale.append(f"{file.relative_to(ROOT)} shows {changed}")
            if not options.check:
                file.write_text(picture)
    if stale and options.check:
        sys.exit("\n".join([*stale, "help: make pictures"]))


if __name__ == "__main__":
    main()
