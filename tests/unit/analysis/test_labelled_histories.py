"""The detector on real CI histories and on injected shifts, as the bench judges it, with few series."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
BENCH = ROOT / "benchmarks" / "detection"


@pytest.fixture
def bench(monkeypatch):
    """The modules of the bench; they lie outside the package."""
    monkeypatch.syspath_prepend(str(BENCH))
    yield importlib.import_module("accuracy"), importlib.import_module("corpus")
    for name in ("accuracy", "corpus", "peers", "score"):
        sys.modules.pop(name, None)


def test_injected_shifts_are_found(bench):
    accuracy, corpus = bench
    found = accuracy.ours_injected(5, corpus.data_folder(), 4)
    assert found["f1"] >= 0.93
    assert found["scenarios"]["none"].false <= 1
    assert found["drift labelled"] > 0.8


def test_labelled_histories_are_read_as_people_read_them(bench):
    accuracy, corpus = bench
    folder = corpus.data_folder()
    if folder is None:
        pytest.skip("the labelled series are absent: set ANUBIS_DETECTION_DATA")
    assert accuracy.ci_f1(folder, accuracy.ours_ci).f1 >= 0.90


def test_known_errors_of_repeats_are_worth_having(bench):
    accuracy, _ = bench
    unknown, known = accuracy.gain_of_known_errors(5, 24)
    assert known - unknown >= 0.08


def test_the_bench_names_absent_peers():
    done = subprocess.run([sys.executable, BENCH, "--help"], capture_output=True, text=True, check=True)
    assert "--peers-venv" in done.stdout
