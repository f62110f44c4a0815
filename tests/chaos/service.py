"""A marathon of two services on one PostgreSQL: clients submit with keys and follow events while both, and the database, fail."""

import contextlib
import json
import os
import random
import signal
import socket
import subprocess
import threading
import time
import urllib.request
from collections import Counter, defaultdict
from http.client import HTTPException
from pathlib import Path

from chaos.judge import Verdict, judge
from chaos.workload import LASTS_S, Workload
from support.command import BIN
from support.postgresql import Cluster
from support.processes import left_in

#: Mean pause between two disturbances, seconds.
PAUSE_S = 1.0
CLIENTS = 3
#: Runs that are not final above which nothing is submitted.
MOST_RUNS = 12
#: How long a request, the end of a service and the end of all runs may take, seconds.
REQUEST_S, STOP_S, DRAIN_S = 10.0, 60.0, 300.0
#: Pause of a client after a request that failed, seconds.
AGAIN_S = 0.1
#: What can go wrong with a request while services and the database are away.
AWAY = (OSError, HTTPException, ValueError)


class Replica:
    """A service at a fixed port, which is started again after its end."""

    def __init__(self, environment: dict[str, str], log: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{free.getsockname()[1]}"
        self._environment = environment
        self._log = log
        self.process: subprocess.Popen[bytes] | None = None
        #: Monotonic time at which it is started, or continues.
        self.next_s = 0.0
        self.is_stopped = False

    def supervise(self, now_s: float) -> None:
        """Start it, or let it continue, if it is time to."""
        if now_s < self.next_s:
            return
        if self.is_stopped and self.process:
            self.process.send_signal(signal.SIGCONT)
            self.is_stopped = False
        if self.process is None or self.process.poll() is not None:
            with self._log.open("ab") as log:
                self.process = subprocess.Popen(
                    [BIN / "anubis", "serve", "--listen", self.address, "--log-format", "json"],
                    env=self._environment,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=log,
                )
            self.next_s = now_s + AGAIN_S

    @property
    def runs(self) -> bool:
        """Whether it runs and is not stopped."""
        return not self.is_stopped and self.process is not None and self.process.poll() is None

    def ask(self, method: str, path: str, body: object = None, **headers: str) -> dict:
        """The JSON of an answer. Raises one of ``AWAY``, also for an answer other than a success."""
        content = None if body is None else json.dumps(body).encode()
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        request = urllib.request.Request(
            f"http://{self.address}{path}",
            content,
            {"Content-Type": "application/json", **names},
            method=method,
        )
        with urllib.request.urlopen(request, timeout=REQUEST_S) as answer:
            return json.loads(answer.read())


class ServiceMarathon:
    """One installation with two services and what is done to it."""

    def __init__(self, folder: Path, seed: int, server: Cluster) -> None:
        self.chance = random.Random(seed)
        self.done: Counter[str] = Counter()
        self.home = folder / "home"
        self.settings = {
            "ANUBIS_HOME": str(self.home),
            "ANUBIS_DATABASE_URL": server.url,
            "ANUBIS_LEASE_S": "3",
            "ANUBIS_PROCESS_SLOTS": "2",
            "ANUBIS_MIN_FREE_BYTES": "0",
        }
        self.workload = Workload(self.home, folder / "work", self.settings)
        self._server = server
        self._server_next_s = 0.0
        self._server_is_away = False
        environment = {**self.workload.anubis.environment(), "ANUBIS_SERVICE_URL": "none"}
        self.replicas = [Replica(environment, folder / f"service-{number}.log") for number in (1, 2)]
        self._over = threading.Event()
        self._broken: list[str] = []
        #: Idempotency key -> ids with which it was answered.
        self.keyed: dict[str, set[str]] = defaultdict(set)
        #: Keys whose first request was not answered; they may have stored their run.
        self.unanswered: set[str] = set()
        #: Numbers of the events that the follower got, in order.
        self.followed: list[int] = []

    def run(self, seconds: float) -> None:
        """Disturb until the time is over."""
        threads = [
            threading.Thread(target=self._submit, args=(number, random.Random(self.chance.random())))
            for number in range(CLIENTS)
        ]
        threads.append(threading.Thread(target=self._follow, args=(random.Random(self.chance.random()),)))
        self._tend(float("inf"), lambda: all(map(self._is_ready, self.replicas)))
        for thread in threads:
            thread.start()
        end_s = time.monotonic() + seconds
        actions = {self.kill: 3, self.terminate: 2, self.stop: 1, self.stop_server: 1}
        while time.monotonic() < end_s:
            (action,) = self.chance.choices(list(actions), list(actions.values()))
            action(self.chance.choice(self.replicas))
            self._tend(self.chance.expovariate(1 / PAUSE_S))
        self._recover()
        self._over.set()
        for thread in threads:
            self._tend(DRAIN_S, lambda thread=thread: not thread.is_alive())

    def _tend(self, seconds: float, until=lambda: False) -> None:
        """Supervise the services and the database for so long, or until the condition holds."""
        end_s = time.monotonic() + seconds
        while (now_s := time.monotonic()) < end_s and not until():
            if self._server_is_away and now_s >= self._server_next_s:
                self._server.start()
                self._server_is_away = False
            for replica in self.replicas:
                replica.supervise(now_s)
            time.sleep(0.02)

    def kill(self, replica: Replica) -> None:
        if replica.process and replica.process.poll() is None:
            replica.process.kill()
            replica.process.wait()
            replica.is_stopped = False
            replica.next_s = time.monotonic() + self.chance.uniform(0, 4)
            self.done["service killed"] += 1

    def terminate(self, replica: Replica) -> None:
        """Ask it to end, as an upgrade does."""
        if not replica.runs:
            return
        replica.process.terminate()
        self.done["service ended"] += 1
        try:
            replica.process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._broken.append(f"the service {replica.address} did not end within {STOP_S:g} s")
            replica.process.kill()

    def stop(self, replica: Replica) -> None:
        """Stop it for longer or shorter than its leases last."""
        if replica.runs:
            replica.process.send_signal(signal.SIGSTOP)
            replica.is_stopped = True
            replica.next_s = time.monotonic() + self.chance.choice((0.1, 1.0, 5.0))
            self.done["service stopped"] += 1

    def stop_server(self, _replica: Replica) -> None:
        if not self._server_is_away:
            self._server.stop()
            self._server_is_away = True
            self._server_next_s = time.monotonic() + self.chance.uniform(0, 2)
            self.done["database restarted"] += 1

    def _is_ready(self, replica: Replica) -> bool:
        try:
            return replica.ask("GET", "/readyz")["status"] == "ready"
        except AWAY:
            return False

    def _submit(self, number: int, chance: random.Random) -> None:
        """One client: submits with a key to any service until it is answered, and sometimes again."""
        count = 0
        while not self._over.is_set():
            if self._unfinished(chance) >= MOST_RUNS:
                self._over.wait(AGAIN_S)
                continue
            count += 1
            key = f"{number}-{count}"
            text = (self.workload.anubis.folder / f"{chance.choice(list(LASTS_S))}.toml").read_text()
            body = {"descriptors": [{"text": text, "folder": str(self.workload.anubis.folder)}]}
            self._request(key, body, chance)
            if self.keyed[key] and chance.random() < 0.2:
                self._request(key, body, chance)
                self.done["repeated requests"] += 1
            if self.keyed[key] and chance.random() < 0.05:
                with contextlib.suppress(*AWAY):
                    refs = {"refs": list(self.keyed[key])}
                    chance.choice(self.replicas).ask("POST", "/api/v1/runs/cancellations", refs)
                    self.done["cancellations"] += 1

    def _request(self, key: str, body: object, chance: random.Random) -> None:
        """Repeat a request, at either service, until it is answered."""
        self.unanswered.add(key)
        while not self._over.is_set():
            try:
                answer = chance.choice(self.replicas).ask("POST", "/api/v1/runs", body, Idempotency_Key=key)
            except AWAY:
                self.done["requests that failed"] += 1
                self._over.wait(AGAIN_S)
                continue
            self.keyed[key] |= {run["id"] for run in answer["runs"]}
            self.unanswered.discard(key)
            self.done["answered"] += 1
            return

    def _unfinished(self, chance: random.Random) -> int:
        try:
            return int(chance.choice(self.replicas).ask("GET", "/readyz")["unfinished"])
        except AWAY:
            return 0  # what is submitted now waits for an answer

    def _follow(self, chance: random.Random) -> None:
        """Follow all events, at either service; after each end of the stream resume after the last event."""
        while not self._over.is_set():
            last = self.followed[-1] if self.followed else 0
            request = urllib.request.Request(
                f"http://{chance.choice(self.replicas).address}/api/v1/events?after={last}",
                headers={"Accept": "text/event-stream", "Last-Event-ID": str(last)},
            )
            with contextlib.suppress(*AWAY), urllib.request.urlopen(request, timeout=REQUEST_S) as stream:
                self.done["streams"] += 1
                for line in stream:
                    if line.startswith(b"id: "):
                        self.followed.append(int(line[4:]))
                    if self._over.is_set():
                        break
            self._over.wait(AGAIN_S)

    def _recover(self) -> None:
        """Undo every disturbance, and wait until both services work."""
        self._server_next_s = 0.0
        for replica in self.replicas:
            replica.next_s = 0.0
        self._tend(DRAIN_S, lambda: not self._server_is_away and all(map(self._is_ready, self.replicas)))

    def end(self) -> Verdict:
        """Wait until every run is final, end the services, and judge."""

        def is_over() -> bool:
            with contextlib.suppress(*AWAY):
                return self.replicas[0].ask("GET", "/readyz").get("unfinished") == 0
            return False

        self._tend(DRAIN_S, is_over)
        statuses = []
        for replica in self.replicas:
            self.terminate(replica)
            statuses.append(replica.process.returncode)
        promised = set().union(*self.keyed.values())
        verdict = judge(self.settings, promised, self.workload.starts())
        verdict.broken += self._broken + list(self._found(verdict, promised))
        verdict.broken += [f"a service ended with status {status}" for status in statuses if status]
        verdict.broken += [f"process {pid} was left" for pid in left_in(self.home)]
        return verdict

    def notes(self) -> list[str]:
        """What this machine did not allow: nothing."""
        return []

    def remove(self) -> None:
        """Nothing is mounted."""

    def _found(self, verdict: Verdict, promised: set[str]):
        """What the judge of any marathon does not look at."""
        for key, ids in self.keyed.items():
            if len(ids) > 1:
                yield f"the key {key} stored {len(ids)} runs"
        stored = sum(verdict.ends.values())
        if not len(promised) <= stored <= len(promised) + len(self.unanswered):
            yield f"{len(promised)} runs were promised, {len(self.unanswered)} more possible, {stored} are stored"
        for end in verdict.ends:
            if end not in {"succeeded", "cancelled: cancelled"}:
                yield f"runs ended as {end} although no agent was disturbed"
        if self.followed != sorted(set(self.followed)):
            yield "events were followed twice, or not in order"
        if self.followed and self.followed != list(range(1, self.followed[-1] + 1)):
            yield f"of {self.followed[-1]} events {len(self.followed)} were followed"


def stop_all(replicas: list[Replica]) -> None:
    """End what is left of the services, however the marathon ended."""
    for replica in replicas:
        if replica.process and replica.process.poll() is None:
            os.kill(replica.process.pid, signal.SIGKILL)
            replica.process.wait()
