"""Runs one peer in its own environment: one JSON request on standard input, one JSON answer on standard output.

Imports nothing of ours, so that the environment of the peers needs nothing of ours.
"""

import json
import sys
import time
from importlib.metadata import version

WINDOW = 150
NEAR = 5


def otava():
    from otava.analysis import compute_change_points  # noqa: PLC0415  not every environment has it

    def find(values):
        try:
            return [int(change.index) for change in compute_change_points(values)[0]]
        except ValueError:  # raised by 0.8.0 for some series when two windows report one point
            return []

    return find


def asv():
    from asv.step_detect import detect_steps  # noqa: PLC0415  not every environment has it

    return lambda values: [step[0] for step in detect_steps(values)][1:]


def mongodb():
    from signal_processing_algorithms.energy_statistics.energy_statistics import e_divisive  # noqa: PLC0415  not every environment has it

    return lambda values: [int(at) for at in e_divisive(values)]


def ruptures():
    import numpy as np  # noqa: PLC0415  not every environment has it
    from ruptures import KernelCPD  # noqa: PLC0415  not every environment has it

    def find(values):
        fitted = KernelCPD(kernel="rbf").fit(np.asarray(values))
        return [int(at) for at in fitted.predict(pen=10)[:-1]]

    return find


PEERS = {"otava": otava, "asv": asv, "mongodb": mongodb, "ruptures": ruptures}
DISTRIBUTIONS = {
    "otava": "apache-otava",
    "asv": "asv",
    "mongodb": "signal-processing-algorithms",
    "ruptures": "ruptures",
}


def whole(find, series):
    return {"found": [sorted(find(values)) for values in series]}


def online(find, series):
    """Alarms (point, index) of re-running after every new point on the newest WINDOW."""
    alarms = []
    for values in series:
        own, seen = [], []
        for count in range(6, len(values) + 1):
            first = max(0, count - WINDOW)
            for at in find(values[first:count]):
                if all(abs(first + at - other) > NEAR for other in seen):
                    own.append([count, first + at])
                seen.append(first + at)
        alarms.append(own)
    return {"alarms": alarms}


def timed(find, series):
    """Seconds of one core for each whole series, the best of five."""
    seconds = []
    for values in series:
        runs = []
        for _ in range(5):
            started = time.process_time()
            find(values)
            runs.append(time.process_time() - started)
        seconds.append(min(runs))
    return {"seconds": seconds}


def appended(_find, series):
    """Seconds for one more point in Otava's incremental mode, over the last 50 points of each series."""
    from otava.analysis import compute_change_points  # noqa: PLC0415  not every environment has it

    seconds = []
    for values in series:
        _, weak = compute_change_points(values[:-50])
        for count in range(len(values) - 49, len(values) + 1):
            started = time.process_time()
            try:
                _, weak = compute_change_points(values[:count], new_data=1, old_weak_cp=weak)
            except ValueError:
                _, weak = compute_change_points(values[:count])
            seconds.append(time.process_time() - started)
    return {"seconds": seconds}


if __name__ == "__main__":
    request = json.load(sys.stdin)
    mode = {"whole": whole, "online": online, "timed": timed, "appended": appended}[request["mode"]]
    try:
        find = PEERS[request["peer"]]()
    except ImportError as error:
        answer = {"absent": str(error)}
    else:
        find([1.0, 2.0] * 20)
        answer = {**mode(find, request["series"]), "version": version(DISTRIBUTIONS[request["peer"]])}
    json.dump(answer, sys.stdout)
