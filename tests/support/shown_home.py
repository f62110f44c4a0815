"""A service with something to show on every page, and the addresses of these pages."""

import os
import random
import shutil
import subprocess
from pathlib import Path

from anubis.describe.drafting import DescriptorText
from anubis.model.errors import NotFoundError

#: Release of axe-core, which finds what people with disabilities cannot use.
AXE = "4.10.3"
HELLO = """spec_version = "1.0"
[info]
name = "{name}"
[info.labels]
team = "vision"
[hardware]
instance_type = "local"
[ml]
benchmark_code = "{code}"
[measure]
repeats = 3
[[output.metrics]]
name = "score"
units = "img/s"
better = "higher"
pattern = 'score=(\\S+)'
"""
MATRIX = '\n[matrix]\n"env.vars.THREADS" = ["1", "2", "4", "8"]\n"env.vars.SIZE" = ["10", "20", "30"]\n'
CELL = "sh -c 'test $THREADS -lt 8 || exit 3; echo score=$THREADS$SIZE'"
WORKS = "sh -c 'echo score=91.5; echo a warning >&2; sleep 1.3; echo done'"
FAILS = "sh -c 'echo score=91.5; echo RuntimeError: out of luck >&2; exit 3'"


def text(name, code, more=""):
    """A descriptor without a file."""
    return DescriptorText(text=HELLO.format(name=name, code=code) + more, folder=Path("/"), name="hello.toml")


def history(runs=90, shift=70):
    """A CSV with three metrics, one of which becomes worse."""
    noise = random.Random(3)
    rows = ["benchmark,metric,value,unit,better,commit,time,run"]
    for at in range(runs):
        values = (
            ("throughput", noise.gauss(912 if at < shift else 872, 6), "img/s", "higher"),
            ("latency_p99", noise.gauss(0.0412, 0.0003), "s", "lower"),
            ("accuracy", noise.gauss(0.761, 0.002), "1", "higher"),
        )
        for metric, value, unit, better in values:
            rows.append(
                f"resnet50-train,{metric},{value:.6g},{unit},{better},{at:040x},{1_790_000_000 + 43_200 * at},r{at}"
            )
    return "\n".join(rows)


def fill(service, folder):
    """Fill the service; the name of each page and its address below ``/ui``."""
    file = Path(folder) / "history.csv"
    file.write_text(history())
    with service.client() as client:
        client.histories.store(client.histories.read([str(file)]))
        client.series.analyse()
        alert = client.alerts.find()[0]
        good, bad = client.runs.submit([text("hello", WORKS), text("broken", FAILS)])
        client.runs.wait([good.id, bad.id])
        sweep = client.sweeps.start(client.sweeps.plan(text("blas", CELL, MATRIX)))
        client.sweeps.wait(sweep.id)
        client.schedules.add(text("nightly", WORKS), overrides={"info.scheduling": "@daily"})
        old, new = (client.runs.get(run_id).id for run_id in _ends(client))
    return {
        "overview": "",
        "runs": "/runs",
        "run": f"/runs/{good.id}",
        "failed-run": f"/runs/{bad.id}",
        "output": f"/runs/{bad.id}/output",
        "telemetry": f"/runs/{good.id}?tab=telemetry",
        "timeline": f"/runs/{good.id}?tab=events",
        "descriptor": f"/runs/{good.id}?tab=descriptor",
        "machine": f"/runs/{good.id}?tab=machine",
        "datasets": f"/runs/{good.id}?tab=data",
        "benchmarks": "/benchmarks",
        "benchmark": "/benchmarks/resnet50-train",
        "compare": f"/compare?a={old}&b={new}",
        "side-by-side": f"/compare?run={old}&run={new}&run={good.id}",
        "alerts": "/alerts",
        "alert": f"/alerts/{alert.id}",
        "families": "/families",
        "family": f"/families/{sweep.id}",
        "schedules": "/schedules",
        "schedule": "/schedules/nightly",
        "machines": "/machines",
        "data": "/data",
        "events": "/events",
        "search": "/search?pattern=warning",
        "submit": "/submit",
        "settings": "/settings",
    }


def _ends(client):
    """The ids of the oldest and of the newest run of the history."""
    points = client.series.find(benchmark="resnet50-train", metric="throughput")[0].points
    return points[0].run_id, points[-1].run_id


def axe():
    """The script of axe-core from the npm registry, kept for later. Raises NotFoundError where it cannot be fetched."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "anubis-ci" / f"axe-core-{AXE}"
    script = cache / "package" / "axe.min.js"
    if not script.exists():
        cache.mkdir(parents=True, exist_ok=True)
        npm = shutil.which("npm")
        if npm is None:
            raise NotFoundError("npm is not installed")
        packed = subprocess.run(
            [npm, "pack", "--silent", f"axe-core@{AXE}"],
            cwd=cache,
            capture_output=True,
            text=True,
            check=False,
        )
        if packed.returncode:
            raise NotFoundError("the npm registry does not answer")
        subprocess.run(["tar", "xzf", packed.stdout.split()[-1]], cwd=cache, check=True)
    return script.read_text()
