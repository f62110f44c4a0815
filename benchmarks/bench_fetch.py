"""Fetching one large file and many small ones from a server on this machine, digests verified; the same with aria2 and rclone.

python benchmarks/bench_fetch.py [--bytes N] [--files N] [--rounds 3] [--quick] [--json FILE]

The server is nginx. Each round fetches with every tool once, in turn, into an empty folder. Anubis: one process with the cache
of datasets, SHA-256 of every file while it arrives, with links as containers get them. aria2: `--checksum` of every file. rclone, which
verifies nothing over HTTP: the large file by `copyurl`, the small files by `copy` of its HTTP remote without a request for the size of each
file, then `sha256sum --check`. "again": the same datasets in the same cache, what a second run waits for.
nginx, aria2c and rclone that are not installed are named as absent; without nginx nothing is measured.
"""

import argparse
import hashlib
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

from report import Report, add_option, bar_state

#: Most memory of the process that fetches, and most milliseconds that a second run adds: CPU time, which other programs on
#: the machine do not lengthen much.
BAR_MIB, BAR_AGAIN_MS = 150, 50
NGINX = """\
daemon off; master_process off; pid {folder}/nginx.pid; error_log /dev/null;
events {{ worker_connections 1024; }}
http {{
  access_log off; sendfile on; keepalive_requests 1000000; autoindex on; tcp_nopush on;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  server {{ listen 127.0.0.1:{port}; root {folder}/served; }}
}}
"""
#: Fetches with the code of Anubis: JSON of the folder, the address, and for a folder the sizes of its files.
FETCH = """\
import json, resource, sys, time
from pathlib import Path
from anubis.contracts.datasets import Dataset
from anubis.contracts.source import RemoteFile
from anubis.datasets.cached import CachedDatasets
from anubis.datasets.limits import FetchSettings
from anubis.model.server import DataSource
from anubis.sources.http import HttpSource
from anubis.sources.network import NetworkSettings
from anubis.sources.web import Web

class Folder(HttpSource):
    def find(self, url, version=""):
        if not sizes:
            return super().find(url, version)
        return tuple(RemoteFile(url=url + name, path=name, size_bytes=size, ranges=True) for name, size in sizes.items())

folder, url, digest, sizes = json.load(sys.stdin)
settings = FetchSettings(folder=Path(folder), min_free_bytes=0)
cache = CachedDatasets(settings, {"http": Folder(Web(NetworkSettings()))})
began, spent = time.perf_counter(), time.process_time()
while not isinstance(dataset := cache.fetch(DataSource(src=url, path="/x", digest=digest), writable=False), Dataset):
    for active in list(cache._active.values()):
        active.ended.wait()
assert cache.folder(dataset.digest, writable=False)
took = time.perf_counter() - began, time.process_time() - spent
print(json.dumps([*took, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))
"""


@contextmanager
def nginx(folder):
    """The address of a server of ``folder/served``."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (folder / "nginx.conf").write_text(NGINX.format(folder=folder, port=port))
    with subprocess.Popen(["nginx", "-c", folder / "nginx.conf"], stderr=subprocess.DEVNULL) as server:
        try:
            while True:
                try:
                    socket.create_connection(("127.0.0.1", port)).close()
                    break
                except ConnectionRefusedError:
                    if server.poll() is not None:
                        raise SystemExit("nginx does not start") from None
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()


def write_files(folder, size, count):
    """The served files; digests by path."""
    (folder / "served/small").mkdir(parents=True)
    block, digests = os.urandom(1 << 20), {}
    whole = hashlib.sha256()
    with (folder / "served/large").open("wb") as file:
        for _ in range(size >> 20):
            file.write(block)
            whole.update(block)
    digests["large"] = whole.hexdigest()
    for number in range(count):
        content = number.to_bytes(8, "big") + block[:4088]
        (folder / f"served/small/{number:05}").write_bytes(content)
        digests[f"small/{number:05}"] = hashlib.sha256(content).hexdigest()
    return digests


def timed(*words, cwd=None):
    """Seconds, CPU seconds and peak memory (MiB) of a command, which must succeed."""
    began = time.perf_counter()
    with subprocess.Popen(words, cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        _, status, spent = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{words[0]} failed with {process.returncode}")
    return time.perf_counter() - began, spent.ru_utime + spent.ru_stime, spent.ru_maxrss / 1024


def anubis(folder, url, digest, sizes):
    asked = json.dumps([str(folder), url, digest, sizes])
    done = subprocess.run(
        [sys.executable, "-c", FETCH], input=asked, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    return tuple(json.loads(done.stdout))


class Tools:
    """Every tool as a function from the kind of data to seconds, CPU seconds and MiB."""

    def __init__(self, folder, url, digests):
        self.folder, self.url, self.digests = folder, url, digests
        small = {path: digest for path, digest in digests.items() if path != "large"}
        lines = sorted(f"{digest}  {path.removeprefix('small/')}\n" for path, digest in small.items())
        lines.sort(key=lambda line: line.partition("  ")[2])
        self.folder_digest = hashlib.sha256("".join(lines).encode()).hexdigest()
        self.sizes = {path.removeprefix("small/"): 4096 for path in small}
        listed = [
            f"{url}/{path}\n  out={path.removeprefix('small/')}\n  checksum=sha-256={digest}\n"
            for path, digest in small.items()
        ]
        (folder / "aria2.txt").write_text("".join(listed))
        (folder / "large.sums").write_text(f"{digests['large']}  large\n")
        (folder / "small.sums").write_text("".join(lines))

    def anubis(self, kind, target):
        if kind == "large":
            return anubis(target, f"{self.url}/large", f"sha256:{self.digests['large']}", {})
        return anubis(target, f"{self.url}/small/", f"sha256:{self.folder_digest}", self.sizes)

    def aria2c(self, kind, target):
        common = ["aria2c", "-q", "--dir", str(target), "--file-allocation=none", "-x8", "-s8", "-k16M"]
        if kind == "large":
            return timed(*common, f"--checksum=sha-256={self.digests['large']}", f"{self.url}/large")
        return timed(*common, "-j8", "-i", str(self.folder / "aria2.txt"))

    def rclone(self, kind, target):
        if kind == "large":
            fetched = timed("rclone", "copyurl", f"{self.url}/large", str(target / "large"))
        else:
            source = ["--http-url", f"{self.url}/small/", "--http-no-head", ":http:"]
            fetched = timed("rclone", "copy", *source, str(target), "--transfers", "8")
        verified = timed("sha256sum", "--check", "--quiet", str(self.folder / f"{kind}.sums"), cwd=target)
        return fetched[0] + verified[0], fetched[1] + verified[1], fetched[2]


def measure(kind, tools, names, rounds, folder):
    """For each tool the seconds, CPU seconds and MiB of each round; Anubis also fetches again."""
    found = {name: [] for name in [*names, "again"]}
    for number in range(rounds):
        for name in names[number % len(names) :] + names[: number % len(names)]:
            target = folder / "target"
            target.mkdir()
            found[name].append(getattr(tools, name)(kind, target))
            if name == "anubis":
                found["again"].append(tools.anubis(kind, target))
            subprocess.run(["chmod", "-R", "u+w", target], check=True)
            shutil.rmtree(target)
    return found


def milliseconds(values):
    return f"{statistics.median(values) * 1000:,.0f} ms"


def row(label, spent, fastest=None):
    walls, cpus, memory = zip(*spent, strict=True)
    cells = [label, milliseconds(walls), milliseconds(cpus), f"{max(memory):.0f} MiB"]
    return [*cells, "" if fastest is None else f"{statistics.median(walls) / fastest:.2f}"]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--bytes", type=int, default=4 << 30)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="256 MiB, 1000 files, one round")
    add_option(parser)
    options = parser.parse_args()
    if options.quick:
        options.bytes, options.files, options.rounds = 256 << 20, 1000, 1
    if not shutil.which("nginx"):
        print("nginx is absent: nothing is measured")
        return
    names = ["anubis", *(name for name in ("aria2c", "rclone") if shutil.which(name))]
    report = Report(quick=options.quick)
    with tempfile.TemporaryDirectory() as name, nginx(Path(name)) as url:
        folder = Path(name)
        tools = Tools(folder, url, write_files(folder, options.bytes, options.files))
        titles = {
            "large": f"One file of {options.bytes >> 20} MiB",
            "small": f"{options.files} files of 4 KiB",
        }
        for kind, title in titles.items():
            found = measure(kind, tools, names, options.rounds, folder)
            peers = [statistics.median(one[0] for one in found[name]) for name in names[1:]]
            fastest = min(peers) if peers else None
            rows = [row(name, found[name], fastest) for name in names]
            walls, cpus, _ = zip(*found["again"], strict=True)
            state = bar_state(statistics.median(cpus) * 1000, BAR_AGAIN_MS)
            rows.append(["anubis, again", milliseconds(walls), f"{milliseconds(cpus)} ({state})", "", ""])
            mib = max(one[2] for one in found["anubis"])
            memory = f"memory ({bar_state(mib, BAR_MIB)})"
            head = [title, "time", "CPU", memory, "time relative to the fastest other"]
            report.add(kind, [head, *rows], title=title)
    report.save(options.json)


if __name__ == "__main__":
    main()
