"""Starts agents as engines do, and reads the records that they write."""

import json
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from anubis.agent.extract.extraction import Extraction
from anubis.record import samples
from anubis.record.files import FolderFiles
from anubis.record.index_writer import CHUNK, END, GAP, STDOUT, IndexFile
from anubis.record.layout import STREAMS

SRC = Path(__file__).parent.parent.parent / "src"
LAUNCH = "import sys; sys.path.insert(0, {!r}); from anubis.agent.entry import main; main()"


@cache
def interpreter(version):
    """A Python of this version ("3.8"), or the one that runs the tests; skips when it is not installed."""
    if version == "this":
        return sys.executable
    for candidate in candidates(version):
        answer = subprocess.run(
            [candidate, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"],
            check=False,
            capture_output=True,
            text=True,
        )
        if answer.returncode == 0 and answer.stdout.strip() == version:
            return candidate
    return pytest.skip(f"needs Python {version}: install it, for example with pyenv")


def candidates(version):
    """Programs that may be this Python: beside the one that runs the tests, of pyenv, on the PATH.

    pyenv's shim on the PATH starts only the versions that pyenv has selected, so its folders are looked at first.
    """
    folders = [Path(sys.base_prefix).parent, Path.home() / ".pyenv" / "versions"]
    if root := os.environ.get("PYENV_ROOT"):
        folders.append(Path(root, "versions"))
    for folder in dict.fromkeys(folders):
        yield from sorted(map(str, folder.glob(f"{version}.*/bin/python{version}")), reverse=True)
    if found := shutil.which(f"python{version}"):
        yield found


class Agents:
    """Runs agents on a record in the folder of a test."""

    def __init__(self, folder):
        self.record = folder / "record"
        self.python = sys.executable
        self.packages = str(SRC)

    @property
    def files(self):
        return FolderFiles(str(self.record))

    def words(self, verb, *options, command=()):
        start = [self.python, "-I", "-S", "-c", LAUNCH.format(self.packages)]
        return [
            *start,
            verb,
            "--record",
            str(self.record),
            *map(str, options),
            *(["--", *command] if command else []),
        ]

    def start(self, *options, command, env=None, **extra):
        """Start an agent; the caller must wait for it."""
        environment = {**os.environ, **(env or {})}
        return subprocess.Popen(self.words("exec", *options, command=command), env=environment, **extra)

    def measure(self, *options, command, patterns=None, **extra):
        """Measure a command; returns the contents of exit.json."""
        self.record.mkdir(exist_ok=True)
        if patterns is not None:
            declared = {name: {"pattern": text, "units": "1"} for name, text in patterns.items()}
            (self.record / "patterns.json").write_text(json.dumps(declared))
        self.start(*options, command=command, **extra).wait()
        return self.json("exit.json")

    def extract(self, *options):
        subprocess.run(self.words("extract", *options), check=True)
        return self.json("metrics.json")

    def json(self, name):
        return json.loads((self.record / name).read_text())

    def bytes(self, name):
        return (self.record / name).read_bytes()

    def events(self):
        return [json.loads(line) for line in self.bytes("events.jsonl").splitlines()]


def python(code, *words):
    """The command that runs this code."""
    return [sys.executable, "-c", code, *map(str, words)]


def is_running(pid):
    """Whether a process is running and not a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


class HandmadeRecord:
    """A record written without an agent: streams with their index, as an agent writes them."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.folder.mkdir(exist_ok=True)
        self._index = IndexFile(str(self.folder))
        self._sizes = dict.fromkeys(range(len(STREAMS)), 0)
        for name in STREAMS:
            (self.folder / name).touch()
        self.now_ns = 1_700_000_000_000_000_000

    def write(self, data, *, stream=STDOUT, repeat=0):
        """Append bytes that arrive one second after the previous ones."""
        self.now_ns += 1_000_000_000
        with (self.folder / STREAMS[stream]).open("ab") as file:
            file.write(data)
        self._sizes[stream] += len(data)
        self._index.note(stream, CHUNK, self._sizes[stream], self.now_ns, repeat)

    def mark_gap(self, *, stream=STDOUT, repeat=0):
        """Note that bytes were lost here."""
        self._index.note(stream, GAP, self._sizes[stream], self.now_ns, repeat)

    def end(self):
        self._index.note(STDOUT, END, 0, self.now_ns, 0)

    def extract(self, patterns=None, *, fresh=False):
        """Extract; returns the samples of every metric and the contents of metrics.json."""
        declared = {name: {"pattern": text, "units": "1"} for name, text in (patterns or {}).items()}
        extraction = Extraction(str(self.folder), declared, fresh=fresh)
        while extraction.advance():
            pass
        extraction.finish()
        return samples.load(FolderFiles(str(self.folder))), json.loads(
            (self.folder / "metrics.json").read_text()
        )
