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
    for name in ("accuracy", "corpus", "live", "peers", "robustness", "score", "table"):
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


def test_real_histories_are_rarely_unstable(bench):
    accuracy, corpus = bench
    folder = corpus.data_folder()
    if folder is None:
        pytest.skip("the labelled series are absent: set ANUBIS_DETECTION_DATA")
    unstable, histories = accuracy.unstable_histories(folder)
    assert unstable <= 0.02 * histories


@pytest.mark.usefixtures("bench")
def test_unstable_series_alarm_no_one_once_they_are_recognised():
    robustness = importlib.import_module("robustness")
    shares = []
    for number, kind in enumerate(robustness.KINDS):
        if kind.startswith(("sine", "two modes")):
            noise, most = robustness.KINDS[kind]
            _, late, unstable = robustness.watched(noise, [5, number], 3)
            assert late <= most
            shares.append(unstable)
    assert sum(shares) / len(shares) >= 0.5


@pytest.mark.usefixtures("bench")
def test_spikes_raise_no_alarms():
    live = importlib.import_module("live")
    assert live.spike_alarms(5, 15, "gauss", None) == (0, 0)


@pytest.mark.usefixtures("bench")
def test_shifts_are_reported_soon_after_few_points():
    live = importlib.import_module("live")
    waits = live.delays(5, 10, 60)
    assert waits["5 sigma"] <= 3
    assert waits["3 sigma"] <= 5
    assert waits["2 sigma"] <= 9


def test_the_bench_names_absent_peers():
    done = subprocess.run([sys.executable, BENCH, "--help"], capture_output=True, text=True, check=True)
    assert "--peers-venv" in done.stdout
