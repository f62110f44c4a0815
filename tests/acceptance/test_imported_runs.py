"""An imported run is data: its events, receivers and families decide nothing in the home that imports it."""

import http.server
import json
import threading

import pytest

from support.command import Command


@pytest.fixture
def receiver():
    """The address of a server that counts the notifications it gets."""
    seen = []

    class Receiver(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            seen.append(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *args):
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Receiver)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/hook", seen
    server.shutdown()
    thread.join()
    server.server_close()


def test_an_import_is_marked_and_registers_no_receiver(anubis, receiver, tmp_path):
    address, seen = receiver
    notify = f'[[notify]]\nto = "{address}"\non = ["threshold"]'
    metrics = '[output]\nmetrics = [{name = "loss", units = "none", pattern = "loss=([0-9.]+)", threshold = {max = 0.1}}]'
    file = anubis.write("guest.toml", "echo loss=0.5", more=f"{metrics}\n{notify}")
    assert anubis("run", file).returncode in {0, 1}, "the value crosses the bound"
    (run,) = anubis.json("history")
    told = len(seen)
    archive = anubis.json("record", "export", run["id"])["path"]

    other = Command(tmp_path / "elsewhere", anubis.folder)
    assert other("record", "import", archive).returncode == 0
    shown = other.json("show", run["id"])
    assert {event["kind"] for event in shown["events"]} == {"imported"}
    assert {"submitted", "final"} <= {event["data"]["kind"] for event in shown["events"]}
    assert "notify" not in json.dumps(other.json("descriptor", run["id"])["descriptor"])
    assert other.json("alerts") == []
    assert len(seen) == told
    here, there = (home.json("results", run["id"]) for home in (anubis, other))
    assert (len(here.pop("remarks")), there.pop("remarks")) == (1, [])
    assert here.pop("digest") != there.pop("digest"), "the imported descriptor has no receivers"
    assert there == here


def test_an_imported_run_is_exported_and_imported_again(anubis, tmp_path):
    assert anubis("run", "--", "echo", "1").returncode == 0
    (run,) = anubis.json("history")
    first = anubis.json("record", "export", run["id"])["path"]
    second = Command(tmp_path / "second", anubis.folder)
    assert second("record", "import", first).returncode == 0
    again = anubis.folder / "again"
    assert second("record", "export", run["id"], "-o", again).returncode == 0
    third = Command(tmp_path / "third", anubis.folder)
    assert third("record", "import", again).returncode == 0
    assert third.json("show", run["id"])["events"] == second.json("show", run["id"])["events"]
    assert third("logs", run["id"]).stdout == "1\n"
