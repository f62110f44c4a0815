"""Every example runs as its README says, and gives its metrics."""

import os
import re
import shutil
from pathlib import Path

import pytest

from support.gated import stored
from support.tree import ROOT

EXAMPLES = ROOT / "examples"
#: Example -> its files in the order to be given, words that make it quick, runs, metrics of each.
RUNS = {
    "hello-world": (["hello.toml"], [], 1, {"answer"}),
    "script-mode": (["sort.toml"], ["--script", EXAMPLES / "script-mode" / "code"], 1, {"rate"}),
    "sieve-c": (["sieve.toml"], ["--set", "measure.repeats=1"], 1, {"time", "primes"}),
    "blas-threads": (
        ["threads.toml"],
        ["--set", "measure.repeats=1", "--set", "measure.warmups=0"],
        4,
        {"rate"},
    ),
    "data-parallel": (["train.toml"], [], 1, {"throughput", "step_time", "distance"}),
    "inference-server": (["inference.toml"], [], 1, {"rate", "latency", "service_time"}),
    "parameter-server": (["train.toml"], [], 1, {"throughput"}),
    "sklearn-digits": (["baseline.toml", "contender.toml"], [], 2, {"throughput", "accuracy"}),
}
#: Examples that need more than Python -> their files; tests/integration runs them.
INTEGRATION = {
    "container-without-python": ["copy.toml"],
    "mpi-training": ["mpi.toml"],
    "slurm-array": ["array.toml"],
}
#: Examples of sweeps -> the file to run, and all of its files.
SWEEPS = {"sweep-buffers": ("buffers.toml", ["base.toml", "buffers.toml"])}
FILES = {name: files for name, (files, *_) in RUNS.items()} | INTEGRATION


def test_no_example_is_forgotten():
    found = {folder.name: {file.name for file in folder.glob("*.toml")} for folder in EXAMPLES.iterdir()}
    sweeps = {name: set(files) for name, (_, files) in SWEEPS.items()}
    assert found == {name: set(files) for name, files in FILES.items()} | sweeps


@pytest.mark.parametrize("name", RUNS)
def test_an_example_gives_its_metrics(anubis, name):
    if name == "sieve-c" and not shutil.which("cc"):
        pytest.skip("needs a C compiler")
    files, words, count, metrics = RUNS[name]
    ended = anubis("run", *(EXAMPLES / name / file for file in files), *words)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    rows = stored(anubis.home)
    assert len(rows) == count
    for row in rows:
        assert row.status == "succeeded"
        assert set(row.values) >= metrics
        assert all(row.values[metric][0] > 0 for metric in metrics)


@pytest.mark.parametrize("name", SWEEPS)
def test_an_example_of_a_sweep_runs_as_its_readme_says(anubis, name):
    file, _ = SWEEPS[name]
    command = f"anubis sweep run examples/{name}/{file}"
    assert command in (EXAMPLES / name / "README.md").read_text()
    ended = anubis("sweep", "run", EXAMPLES / name / file)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    found = anubis.json("sweep", "status")
    assert found["phase"] == "ended"
    assert {cell["status"] for cell in found["runs"]} <= {"succeeded", "cut"}
    assert len(found["combinations"]) == 3


@pytest.mark.parametrize("name", FILES)
def test_its_readme_is_short_and_names_the_command(name):
    files = FILES[name]
    readme = (EXAMPLES / name / "README.md").read_text()
    command = "anubis run " + " ".join(f"examples/{name}/{file}" for file in files)
    assert command in readme
    assert len(readme.splitlines()) <= 12


def test_the_demo_ends_in_a_verdict_and_a_plot(anubis, tmp_path):
    """``make demo``'s command on a terminal, with fewer and shorter rounds."""
    makefile = (ROOT / "Makefile").read_text()
    [words] = re.findall(
        r"anubis run (examples/sklearn-digits/\S+) (examples/sklearn-digits/\S+) --rounds (\d+)", makefile
    )
    shutil.copytree(EXAMPLES / "sklearn-digits", tmp_path / "digits")
    train = tmp_path / "digits" / "train.py"
    train.write_text(train.read_text().replace("default=40", "default=2"))
    files = [tmp_path / "digits" / Path(word).name for word in words[:2]]
    text = on_a_terminal(anubis, "run", *files, "--rounds", "3")
    assert re.search(r"^throughput +[\d.]+ -> [\d.]+ images/s +[-+]\d[^|]*n=3\+3 runs", text, re.MULTILINE)
    assert re.search(r"IMPROVEMENT|REGRESSION|no change|unclear", text)
    assert re.search(r"^ +baseline +[ .|]+$", text, re.MULTILINE)
    assert re.search(r"^ +contender +[ .|]+$", text, re.MULTILINE)


def on_a_terminal(anubis, *words):
    """What a person sees at the end, without colours."""
    ours, theirs = os.openpty()
    environment = {**anubis.environment(), "TERM": "xterm"}
    anubis.environment = lambda: environment
    process = anubis.start(*words, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    seen = b""
    while part := read(ours):
        seen += part
    os.close(ours)
    assert process.wait() == 0, seen
    return re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", seen.decode()).replace("\r", "")


def read(terminal):
    try:
        return os.read(terminal, 65_536)
    except OSError:  # Linux returns EIO when no process has the other end open
        return b""
