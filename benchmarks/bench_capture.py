"""What capturing costs: a child at full speed, a chatty child, and the figures behind both.

python benchmarks/bench_capture.py [--lines 10000000] [--rounds 3] [--quick] [--json FILE]

Full speed: a C program prints 100-byte lines through stdio, one in ten matching one of five declared patterns. Compared
are its wall time when it writes a file itself, and under the agent; then how long the figures take to be complete, the
agent's largest memory, and whether a line is missing. Chatty: a child computes and writes 10,000 lines a second, one
write(2) each; the agent's CPU seconds are set against the wall time. Python takes the C compiler's place where there is none.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from report import Report, add_option, bar_state
from spending import median_of

from anubis.record import samples
from anubis.record.files import FolderFiles
from anubis.record.time_index import Arrivals

PACKAGES = str(Path(__file__).parent.parent / "src")
LAUNCH = f"import sys; sys.path.insert(0, {PACKAGES!r}); from anubis.agent.entry import main; main()"
PATTERNS = {
    "loss": {"pattern": r"loss=([0-9.]+)", "units": "1"},
    "accuracy": {"pattern": r"accuracy:\s*([0-9.]+)", "units": "ratio"},
    "throughput": {"pattern": r"throughput ([0-9.]+) img/s", "units": "img/s"},
    "rate": {"pattern": r"lr=([-+0-9.e]+)", "units": "1"},
    "gradient": {"pattern": r"grad_norm=(?P<value>[0-9.]+)", "units": "1"},
}
FULL_SPEED = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv) {
    static const char *figures[5] = {"loss=0.12345", "accuracy: 0.9921", "throughput 812.55 img/s", "lr=3.0e-04", "grad_norm=1.25"};
    static char lines[50][100];
    long count = atol(argv[1]);
    for (int i = 0; i < 50; i++) {
        char text[128];
        if (i % 10 == 0) snprintf(text, 128, "[0001] step 17 rank 0 %s", figures[i / 10]);
        else snprintf(text, 128, "[0001] worker %d has taken a batch of images from the cache in a while", i);
        memset(lines[i], '#', 99);
        memcpy(lines[i], text, strlen(text));
        lines[i][99] = '\n';
    }
    for (long i = 0; i < count; i++) fwrite(lines[i % 50], 1, 100, stdout);
    return 0;
}
"""
CHATTY = r"""
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
int main(int argc, char **argv) {
    long rate = atol(argv[1]), seconds = atol(argv[2]);
    struct timespec now, begin;
    volatile double sum = 0;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (long i = 0; i < rate * seconds; i++) {
        char line[128];
        int size = snprintf(line, 128, "[%08ld] step %ld loss=%.5f and some more words to make a line of usual length\n", i, i, i * 1e-5);
        if (write(1, line, size) != size) return 1;
        double due = (double)(i + 1) / rate, at;
        do {
            for (int k = 0; k < 1000; k++) sum += k;
            clock_gettime(CLOCK_MONOTONIC, &now);
            at = (now.tv_sec - begin.tv_sec) + (now.tv_nsec - begin.tv_nsec) * 1e-9;
        } while (at < due);
    }
    return 0;
}
"""
SLOWLY_FULL_SPEED = """
import sys
figures = ["loss=0.12345", "accuracy: 0.9921", "throughput 812.55 img/s", "lr=3.0e-04", "grad_norm=1.25"]
lines = [f"[0001] step 17 rank 0 {figures[i // 10]}" if i % 10 == 0 else f"[0001] worker {i} has taken a batch" for i in range(50)]
block = "".join(line.ljust(99, "#") + "\\n" for line in lines)
for _ in range(int(sys.argv[1]) // 50):
    sys.stdout.write(block)
"""
SLOWLY_CHATTY = """
import os, sys, time
rate, seconds = int(sys.argv[1]), int(sys.argv[2])
begin = time.monotonic()
for i in range(rate * seconds):
    os.write(1, b"[%08d] step %d loss=%.5f and some more words to make a line of usual length\\n" % (i, i, i * 1e-5))
    while time.monotonic() < begin + (i + 1) / rate:
        pass
"""


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--lines", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=10, help="how long the chatty child runs")
    parser.add_argument("--quick", action="store_true", help="a fifth of the lines, one round, three seconds")
    add_option(parser)
    asked = parser.parse_args()
    report = Report(quick=asked.quick)
    if asked.quick:
        asked.lines, asked.rounds, asked.seconds = asked.lines // 5, 1, 3
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        full_speed = program(folder, "full_speed", FULL_SPEED, SLOWLY_FULL_SPEED)
        chatty = program(folder, "chatty", CHATTY, SLOWLY_CHATTY)
        report.add(
            "full_speed",
            at_full_speed(folder, [*full_speed, str(asked.lines)], asked.lines, asked.rounds),
            title="Full speed, five patterns",
        )
        report.add(
            "chatty",
            chatty_child(folder, [*chatty, "10000", str(asked.seconds)], asked.seconds),
            title=f"A computing child, 10,000 unbuffered lines a second for {asked.seconds} s",
        )
    report.save(asked.json)


def program(folder, name, in_c, in_python):
    """The command that runs it."""
    compiler = shutil.which("cc")
    source = folder / (f"{name}.c" if compiler else f"{name}.py")
    source.write_text(in_c if compiler else in_python)
    if not compiler:
        return [sys.executable, str(source)]
    subprocess.run([compiler, "-O2", "-o", str(folder / name), str(source)], check=True)
    return [str(folder / name)]


def under_agent(record, command):
    """Measure the command; returns the contents of exit.json."""
    record.mkdir()
    (record / "patterns.json").write_text(json.dumps(PATTERNS))
    words = [sys.executable, "-I", "-S", "-c", LAUNCH, "exec", "--record", str(record), "--", *command]
    subprocess.run(words, check=True)
    return json.loads((record / "exit.json").read_text())


def own_file(folder, command):
    """Wall seconds of the child writing the file itself."""
    path = folder / "direct"
    with path.open("wb") as file:
        began = time.perf_counter()
        subprocess.run(command, stdout=file, check=True)
        return time.perf_counter() - began


def at_full_speed(folder, command, count, rounds):
    direct, measured, rows = [], [], []
    record = folder / "full"
    for number in range(rounds):
        # By turns: who comes second may find memory that the host of a virtual machine has taken back.
        if number % 2 == 0:
            direct.append(own_file(folder, command))
        facts = under_agent(record, command)
        if number % 2 == 1:
            direct.append(own_file(folder, command))
        measured.append(facts["executions"][0]["wall_s"])
        rows.append((facts, *check(record, count)))
        shutil.rmtree(record)
        (folder / "direct").unlink()
    agents = [facts["agent"] for facts, *_ in rows]
    complete_s = max(completed(facts) for facts, *_ in rows)
    memory = max(agent["max_rss_bytes"] for agent in agents) / 1e6
    ratios = [one / other for one, other in zip(measured, direct, strict=True)]
    missing, times = sum(row[1] for row in rows), all(row[3] for row in rows)
    return [
        [f"{count:,} lines of 100 bytes, {rounds} rounds", "bar", "measured", ""],
        ["child writes the file itself, wall, s", "", median_of(direct), ""],
        ["child under the agent, wall, s", "", median_of(measured), ""],
        [
            "the second as a share of the first, in the same round",
            "1.0",
            median_of(ratios),
            bar_state(round(statistics.median(ratios), 2), 1.0),
        ],
        [
            "the best of the second as a share of the best of the first",
            "",
            f"{min(measured) / min(direct):.2f}",
            "",
        ],
        ["bytes lost, all rounds", "0", f"{missing:,}", bar_state(missing, 0)],
        ["times of the index never decrease", "yes", "yes" if times else "no", bar_state(not times, 0)],
        ["samples found in the last round", "", f"{rows[-1][2]:,}", ""],
        ["samples complete after the end, worst, s", "15", f"{complete_s:.1f}", bar_state(complete_s, 15)],
        ["agent, CPU, s", "", median_of([agent["cpu_s"] for agent in agents]), ""],
        ["agent, largest memory, MB", "40", f"{memory:.0f}", bar_state(memory, 40)],
    ]


def completed(facts):
    """Seconds from the end of the child until its samples were complete."""
    return facts["ended_s"] - facts["executions"][0]["ended_s"]


def check(record, count):
    """Bytes that are missing, samples found, and whether the times in the index never fall."""
    missing = count * 100 - (record / "stdout").stat().st_size
    found = sum(len(columns) for columns in samples.load(FolderFiles(str(record))).values())
    times = [time_ns for _, _, time_ns, _ in Arrivals(FolderFiles(str(record)), ["stdout"]).new()]
    return missing, found, times == sorted(times)


def chatty_child(folder, command, seconds):
    record = folder / "chatty-record"
    facts = under_agent(record, command)
    execution = facts["executions"][0]
    entries = list(Arrivals(FolderFiles(str(record)), ["stdout"]).new())
    start_s = under_agent(folder / "null-record", ["true"])["agent"]["cpu_s"]
    share = facts["agent"]["cpu_s"] / execution["wall_s"]
    steady = (facts["agent"]["cpu_s"] - start_s) / execution["wall_s"]
    sidecars = facts["agent"]["sidecars_cpu_s"] / execution["wall_s"]
    return [
        [f"{seconds} s", "bar", "measured", ""],
        ["agent without its start, share of a core", "1 %", f"{steady:.2%}", bar_state(steady, 0.01)],
        ["agent with its start, share of a core", "", f"{share:.2%}", ""],
        ["sampler and extractor, share of a core", "", f"{sidecars:.2%}", ""],
        ["agent, largest memory, MB", "", f"{facts['agent']['max_rss_bytes'] / 1e6:.0f}", ""],
        ["entries of the time index per second", "", f"{len(entries) / execution['wall_s']:.0f}", ""],
        ["wall time of the child beyond its schedule", "", f"{execution['wall_s'] / seconds - 1:+.2%}", ""],
    ]


if __name__ == "__main__":
    os.environ.pop("BENCHMARK_AI", None)
    main()
