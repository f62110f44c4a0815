"""A real Alertmanager (Debian's prometheus-alertmanager) that tells a real webhook."""

import json
import shutil
import socket
import subprocess
import threading
import time
import urllib.request
from dataclasses import dataclass

import pytest

from anubis.model.alert import AlertState
from anubis.notifiers.alertmanager import Alertmanager, AlertmanagerSettings
from anubis.settings import load
from support.alerts import ALERT, an_alert
from support.listener import listening

CONFIGURATION = """
route:
  receiver: nobody
  group_by: [alertname, alert]
  group_wait: 0s
  group_interval: 50ms
  repeat_interval: 1h
  routes:
    - receiver: pager
      matchers: [severity="page"]
receivers:
  - name: nobody
  - name: pager
    webhook_configs: [{{url: "{url}/page", send_resolved: true}}]
"""


@dataclass
class Running:
    url: str
    #: The Listener that its receiver ``pager`` tells.
    pager: object

    def alerts(self):
        """The alerts it shows as active, by the id of ours."""
        with urllib.request.urlopen(f"{self.url}/api/v2/alerts?active=true") as answer:
            return {alert["labels"]["alert"]: alert for alert in json.load(answer)}

    def next_page(self):
        """What the pager hears next: (firing or resolved, id of ours)."""
        page = self.pager.arrived.get(timeout=30).json()
        return page["status"], page["commonLabels"]["alert"]


@pytest.fixture(scope="module")
def alertmanager(tmp_path_factory):
    program = shutil.which("prometheus-alertmanager") or shutil.which("alertmanager")
    if program is None:
        pytest.skip("needs Alertmanager: apt-get install prometheus-alertmanager")
    folder = tmp_path_factory.mktemp("alertmanager")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with listening() as pager:
        (folder / "alertmanager.yml").write_text(CONFIGURATION.format(url=pager.url))
        command = [program, f"--config.file={folder}/alertmanager.yml", f"--storage.path={folder}/data"]
        command += [f"--web.listen-address=127.0.0.1:{port}", "--cluster.listen-address="]
        with subprocess.Popen(command, stderr=subprocess.PIPE) as server:
            assert any(b"Listening" in line for line in server.stderr)
            drain = threading.Thread(target=server.stderr.read)
            drain.start()
            yield Running(f"http://127.0.0.1:{port}", pager)
            server.terminate()
            drain.join()


def told_by(running):
    return Alertmanager(AlertmanagerSettings(url=running.url))


def test_an_alert_fires_is_told_once_and_ends(alertmanager):
    now_s = time.time()
    alert = an_alert(id="aaaaaaaaaaaaaaaa", opened_s=now_s - 60, changed_s=now_s - 60)
    for _ in range(2):
        told_by(alertmanager).notify("alertmanager:severity=page", alert)
    shown = alertmanager.alerts()[alert.id]
    assert shown["labels"]["benchmark"] == "resnet50-train"
    assert shown["annotations"]["kind"] == "regression"
    assert alertmanager.next_page() == ("firing", alert.id)

    ended = an_alert(id=alert.id, state=AlertState.RESOLVED, opened_s=alert.opened_s, changed_s=now_s)
    told_by(alertmanager).notify("alertmanager:severity=page", ended)
    assert alert.id not in alertmanager.alerts()
    assert alertmanager.next_page() == ("resolved", alert.id)
    assert alertmanager.pager.arrived.empty()


@pytest.mark.parametrize(
    ("place", "state"), [(1, AlertState.ACCEPTED), (2, AlertState.MUTED), (3, AlertState.RESOLVED)]
)
def test_every_settled_state_ends_it(alertmanager, place, state):
    now_s = time.time()
    alert = an_alert(id=f"{place:016x}", opened_s=now_s - 60, changed_s=now_s - 60)
    told_by(alertmanager).notify("alertmanager:", alert)
    assert alert.id in alertmanager.alerts()
    settled = an_alert(id=alert.id, state=state, opened_s=alert.opened_s, changed_s=now_s)
    told_by(alertmanager).notify("alertmanager:", settled)
    assert alert.id not in alertmanager.alerts()


def test_it_accepts_names_and_labels_of_any_kind(alertmanager):
    strange = an_alert(
        id="cccccccccccccccc",
        benchmark='é "{}\\ 名前\n',
        opened_s=time.time(),
        changed_s=time.time(),
        why="<&>",
    )
    told_by(alertmanager).notify("alertmanager:9 odd-näme=välue {},team=a", strange)
    assert alertmanager.alerts()[strange.id]["labels"]["_9_odd_n_me"] == "välue {}"


def test_a_prefix_and_a_token_are_used_and_the_token_stays_secret():
    with listening() as server:
        settings = load(
            AlertmanagerSettings,
            {"ANUBIS_ALERTMANAGER_URL": f"{server.url}/prefix/", "ANUBIS_ALERTMANAGER_TOKEN": "HUSH"},
        )
        Alertmanager(settings).notify("alertmanager:", ALERT)
    assert server.last.path == "/prefix/api/v2/alerts"
    assert server.last.headers["authorization"] == "Bearer HUSH"
    assert "HUSH" not in repr(settings)
