"""Loads a service over HTTP/1.1 from a separate process: many agents, samples, followers. asyncio, kept connections, no HTTP library.

python benchmarks/load_tool.py agents URL PLAN [--seconds 20] [--every 1]
    Every record of PLAN (a JSON list of {"path": ..., "token": ...}) is an agent that ships lines, their time index and
    samples at regular times. A request without an answer is repeated, as agents do.
python benchmarks/load_tool.py samples URL PLAN [--seconds 10] [--batch 1] [--to anubis|mlflow]
    Every record of PLAN sends samples, the next request when the last one is answered.
python benchmarks/load_tool.py followers URL PATH --lines N [--count 5000] [--seconds 300]
    Clients follow the output of a run until each has N lines. Prints "ready" when all of them are connected.

The last line of the output is a JSON object: latencies in milliseconds, counts, and digests of what was acknowledged.
"""

import argparse
import asyncio
import hashlib
import json
import random
import resource
import struct
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from anubis.record.index_writer import ENTRY_FORMAT
from anubis.record.index_writer import HEADER as INDEX_HEADER
from anubis.record.samples import HEADER, NO_STEP, SERIES, STATE, Columns, block, frame

#: Lines and samples of an agent at one time: what a training prints and measures in a second.
LINES, SAMPLES = 5, 20
LINE = b"step %9d loss 0.12345678 accuracy 0.87654321 images/s 1234.5 %s\n"
#: A request without an answer for so long is repeated, seconds.
PATIENCE_S = 30.0
#: Connections that are opened at the same time: more would overflow the queue of the listener.
AT_ONCE = 100


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    for name, what in (("agents", "plan"), ("samples", "plan"), ("followers", "path")):
        command = commands.add_parser(name)
        command.add_argument("url")
        command.add_argument(what)
        command.add_argument("--seconds", type=float, default=20.0)
    commands.choices["agents"].add_argument("--every", type=float, default=1.0)
    commands.choices["samples"].add_argument("--batch", type=int, default=1)
    commands.choices["samples"].add_argument("--to", choices=("anubis", "mlflow"), default="anubis")
    commands.choices["followers"].add_argument("--count", type=int, default=5000)
    commands.choices["followers"].add_argument("--lines", type=int, required=True)
    asked = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    print(json.dumps(asyncio.run(globals()[asked.command](asked))))


@dataclass
class Load:
    """What was sent, and how long the answers took."""

    took_s: list[float] = field(default_factory=list)
    statuses: Counter = field(default_factory=Counter)
    repeated: int = 0

    def summary(self, seconds):
        ordered = sorted(self.took_s) or [0.0]

        def at(share):
            return round(1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))], 2)

        return {
            "requests": len(self.took_s),
            "per_s": round(len(self.took_s) / seconds, 1),
            **{f"p{share}": at(share / 100) for share in (50, 90, 99)},
            "max": at(1),
            "statuses": dict(self.statuses),
            "repeated": self.repeated,
        }


class Connection:
    """One kept connection, opened again after a failure."""

    def __init__(self, url, load, gate):
        address = urlsplit(url)
        self._place = address.hostname, address.port
        self._load, self._gate = load, gate
        self._streams = None

    async def open(self):
        async with self._gate:
            self._streams = await asyncio.open_connection(*self._place)

    async def ask(self, method, path, body=b"", headers=""):
        """Status and body of the answer; a request without an answer is repeated."""
        head = f"{method} {path} HTTP/1.1\r\nHost: {self._place[0]}\r\nContent-Length: {len(body)}\r\n{headers}\r\n"
        while True:
            started_s = time.monotonic()
            try:
                async with asyncio.timeout(PATIENCE_S):
                    if self._streams is None:
                        await self.open()
                    started_s = time.monotonic()
                    reader, writer = self._streams
                    writer.write(head.encode() + body)
                    status, fields = await answer_of(reader)
                    content = await reader.readexactly(int(fields.get(b"content-length", 0)))
            except (OSError, EOFError, TimeoutError):
                self._load.repeated += 1
                self.close()
                await asyncio.sleep(random.uniform(0.05, 0.2))
                continue
            self._load.took_s.append(time.monotonic() - started_s)
            self._load.statuses[status] += 1
            if fields.get(b"connection") == b"close":
                self.close()
            if status < 500:
                return status, content
            self._load.repeated += 1
            await asyncio.sleep(random.uniform(0.05, 0.2))

    def close(self):
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


async def answer_of(reader):
    """Status and headers of an answer."""
    head = (await reader.readuntil(b"\r\n\r\n")).split(b"\r\n")
    fields = (line.partition(b": ") for line in head[1:] if line)
    return int(head[0].split()[1]), {name.lower(): value.lower() for name, _, value in fields}


class Record:
    """One record of the plan, and what of it was acknowledged."""

    def __init__(self, plan, connection):
        self.path, self.headers = plan["path"], f"Authorization: Bearer {plan['token']}\r\n"
        self.connection = connection
        self.sizes = Counter()
        self.digests = {}
        self.samples = 0
        self.lines = 0

    async def append(self, **parts):
        """Send the next bytes of files, in one request as agents do."""
        body = b"".join(
            b"%s %d %d\n%s" % (file.encode(), self.sizes[file], len(data), data)
            for file, data in parts.items()
        )
        status, content = await self.connection.ask("POST", self.path, body, self.headers)
        for file, data in parts.items():
            self.sizes[file] += len(data)
            self.digests.setdefault(file, hashlib.sha256()).update(data)
        if status != 200 or json.loads(content) != {"sizes": {file: self.sizes[file] for file in parts}}:
            raise SystemExit(f"POST {self.path}: {status} {content.decode(errors='replace')}")

    def some_lines(self, count):
        """The next lines, and their entries in the time index."""
        lines = [LINE % (self.lines + at, b"x" * 30) for at in range(count)]
        start, entries = self.sizes["stdout"], b"" if self.lines else INDEX_HEADER
        for line in lines:
            start += len(line)
            entries += struct.pack(ENTRY_FORMAT, start, time.time_ns(), 0, 0, 0)
        self.lines += count
        return b"".join(lines), entries

    def some_samples(self, count):
        """The next samples of one metric, as the file ``samples`` has them."""
        columns, now_s = Columns("loss", "none"), time.time()
        for at in range(self.samples, self.samples + count):
            columns.append(1 / (at + 1), now_s, at or NO_STEP, 0)
        start = b""
        if not self.samples:
            series = json.dumps({"id": 0, "metric": "loss", "units": "none", "labels": {}})
            start = HEADER + frame(SERIES, series.encode())
        self.samples += count
        return start + block(0, columns) + frame(STATE, b'{"complete": false}')

    def summary(self):
        digests = {file: digest.hexdigest() for file, digest in self.digests.items()}
        return {"path": self.path, "samples": self.samples, "lines": self.lines, "digests": digests}


async def connected(url, plans, load):
    """A record with an open connection for each plan."""
    gate = asyncio.Semaphore(AT_ONCE)
    connections = [Connection(url, load, gate) for _ in plans]
    await asyncio.gather(*(each.open() for each in connections))
    return [Record(*each) for each in zip(plans, connections, strict=True)]


def plans_of(path):
    return json.loads(Path(path).read_text())


async def agents(asked):
    """Lines, time index and samples of every agent at regular times, at a random moment of the interval."""
    load = Load()
    records = await connected(asked.url, plans_of(asked.plan), load)
    begun_s, late = time.monotonic(), Counter()

    async def agent(record):
        next_s = begun_s + random.uniform(0, asked.every)
        while next_s < begun_s + asked.seconds:
            await asyncio.sleep(next_s - time.monotonic())
            lines, entries = record.some_lines(LINES)
            await record.append(stdout=lines, lines=entries, samples=record.some_samples(SAMPLES))
            next_s += asked.every
            late["intervals"] += time.monotonic() > next_s

    await asyncio.gather(*map(agent, records))
    found = load.summary(time.monotonic() - begun_s)
    return {**found, "late": late["intervals"], "records": [each.summary() for each in records]}


async def samples(asked):
    """Samples as fast as they are answered: one request at a time of each record."""
    load = Load()
    records = await connected(asked.url, plans_of(asked.plan), load)
    begun_s, sent = time.monotonic(), Counter()

    async def to_anubis(record):
        while time.monotonic() < begun_s + asked.seconds:
            await record.append(samples=record.some_samples(asked.batch))
            sent["samples"] += asked.batch

    async def to_mlflow(record):
        while time.monotonic() < begun_s + asked.seconds:
            now_ms, at = int(1000 * time.time()), record.samples
            metrics = [
                {"key": "loss", "value": 1 / (step + 1), "timestamp": now_ms, "step": step}
                for step in range(at, at + asked.batch)
            ]
            if asked.batch == 1:
                path, body = "log-metric", {"run_id": record.path, **metrics[0]}
            else:
                path, body = "log-batch", {"run_id": record.path, "metrics": metrics}
            path, headers = f"/api/2.0/mlflow/runs/{path}", "Content-Type: application/json\r\n"
            status, content = await record.connection.ask("POST", path, json.dumps(body).encode(), headers)
            if status != 200:
                raise SystemExit(f"{path}: {status} {content.decode(errors='replace')}")
            record.samples += asked.batch
            sent["samples"] += asked.batch

    await asyncio.gather(*map(to_anubis if asked.to == "anubis" else to_mlflow, records))
    took_s = time.monotonic() - begun_s
    found = {**load.summary(took_s), "samples": sent["samples"], "samples_per_s": sent["samples"] / took_s}
    return {**found, "records": [each.summary() for each in records]}


async def followers(asked):
    """Clients of one stream; each counts its lines and makes a digest of them."""
    address, gate = urlsplit(asked.url), asyncio.Semaphore(AT_ONCE)
    ready = Counter()
    request = f"GET {asked.path} HTTP/1.1\r\nHost: {address.hostname}\r\nAccept: text/event-stream\r\n\r\n"

    async def follower():
        async with gate:
            reader, writer = await asyncio.open_connection(address.hostname, address.port, limit=1 << 22)
            writer.write(request.encode())
            status, _ = await answer_of(reader)
            if status != 200:
                raise SystemExit(f"{asked.path}: {status}")
        ready["connected"] += 1
        lines, digest, late_s = 0, hashlib.sha256(), []
        try:
            while lines < asked.lines and (field_line := await reader.readline()):
                if field_line.startswith(b"data: "):
                    data = json.loads(field_line[6:])
                    lines += len(data["lines"])
                    for each in data["lines"]:
                        digest.update(each["line"].encode() + b"\n")
                    late_s.append(time.time() - data["lines"][-1]["time_s"])
        finally:
            writer.close()
        return lines, digest.hexdigest(), late_s

    tasks = [asyncio.create_task(follower()) for _ in range(asked.count)]
    while ready["connected"] < asked.count:
        if failed := [each for each in tasks if each.done() and each.exception()]:
            raise failed[0].exception()
        await asyncio.sleep(0.05)
    print("ready", flush=True)
    found = await asyncio.wait_for(asyncio.gather(*tasks), asked.seconds)
    load = Load(took_s=[late_s for _, _, each in found for late_s in each])
    kinds = Counter((lines, digest) for lines, digest, _ in found)
    return {
        **load.summary(asked.seconds),
        "kinds": [{"followers": n, "lines": lines, "digest": digest} for (lines, digest), n in kinds.items()],
    }


if __name__ == "__main__":
    main()
