"""Output that is followed through a service: cuts, restarts and slow readers lose and repeat no line."""

import socket
import threading
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from support.gated import STDOUT, Gated
from support.processes import until
from support.service import Service

#: Output of a benchmark that prints much, bytes, and by how much a service may grow that has a reader who reads nothing.
MUCH, MOST_GROWTH = 80_000_000, 40_000_000


@pytest.fixture
def service(tmp_path):
    running = Service(tmp_path / "served").start()
    yield running
    running.stop()


@pytest.fixture
def gated(anubis, service):
    assert anubis("register", service.url).returncode == 0
    bench = Gated(anubis)
    bench.home = service.home
    yield bench
    bench.close()


def test_no_line_is_lost_or_repeated_when_the_service_is_killed(service, gated, anubis):
    (run_id,) = anubis("submit", gated.file).stdout.split()
    command = anubis.start("logs", "-f", run_id, "--stdout")
    assert command.stdout.readline() == b"first\n"
    service.kill()
    gated.open_gate()
    service.start()
    rest, err = command.communicate(timeout=60)
    assert command.returncode == 0, err
    assert b"first\n" + rest == STDOUT % 0 or b"first\n" + rest == STDOUT % 1


def resident_bytes(pid):
    (line,) = (
        line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmRSS")
    )
    return int(line.split()[1]) * 1024


def test_a_reader_who_reads_nothing_needs_no_memory(service, anubis):
    anubis.write("much.toml", f"sh -c 'yes abcdefghijklmnopqrstuvwxyz | head -c {MUCH}; echo score=1'")
    with service.client() as client:
        (run,) = client.runs.submit([anubis.folder / "much.toml"])
        client.runs.wait([run.id])
        before = resident_bytes(service.pid)
        address = urlsplit(service.url)
        with socket.create_connection((address.hostname, address.port), timeout=60) as reader:
            request = f"GET /api/v1/runs/{run.id}/logs HTTP/1.1\r\nHost: {address.netloc}\r\nAccept: text/event-stream\r\n\r\n"
            reader.sendall(request.encode())
            assert reader.recv(10).startswith(b"HTTP/1.1 2")
            counts = []

            def read_all():
                counts.append(sum(len(lines) for lines in client.records.follow(run.id, streams=["stdout"])))

            thread = threading.Thread(target=read_all)
            thread.start()
            thread.join()
        assert counts[0] >= MUCH // 27
        assert resident_bytes(service.pid) - before < MOST_GROWTH


def test_readers_of_one_run_share_the_looks_at_its_record(service, gated, anubis):
    (run_id,) = anubis("submit", gated.file).stdout.split()
    until(lambda: any(gated.stdouts()), "it has printed")
    found = {}

    def read(number):
        with service.client() as client:
            found[number] = [line.line for lines in client.records.follow(run_id) for line in lines]

    threads = [threading.Thread(target=read, args=(number,)) for number in range(5)]
    for thread in threads:
        thread.start()
    gated.open_gate()
    for thread in threads:
        thread.join()
    assert len(found) == 5
    assert all(sorted(lines) == sorted(found[0]) for lines in found.values())
    assert len(found[0]) == 20003
