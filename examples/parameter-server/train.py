"""A parameter server and its workers, in one program: the server keeps the weights, a worker sends gradients."""

import os
import time
from multiprocessing.connection import Client, Listener
from threading import Lock, Thread

import numpy as np

ADDRESS = os.environ["PARAMETER_SERVER_HOST"], int(os.environ["PARAMETER_SERVER_PORT"])
STEPS, BATCH, FEATURES = 200, 64, 32
TRUTH = np.arange(FEATURES) / FEATURES


def serve():
    """Apply the gradients of all workers until the run ends."""
    weights, lock = np.zeros(FEATURES), Lock()

    def answer(worker):
        with worker:
            try:
                while True:
                    gradient = worker.recv()
                    with lock:
                        weights[:] -= 0.1 * gradient
                        worker.send(weights.copy())
            except EOFError:  # the worker has ended
                return

    with Listener(ADDRESS, backlog=16) as listener:
        while True:
            Thread(target=answer, args=(listener.accept(),), daemon=True).start()


def connected():
    for _ in range(600):
        try:
            return Client(ADDRESS)
        except ConnectionRefusedError:  # the server does not listen yet
            time.sleep(0.05)
    raise SystemExit("the parameter server does not listen")


def work():
    random = np.random.default_rng(int(os.environ["ANUBIS_RANK"]))
    weights, started = np.zeros(FEATURES), time.perf_counter()
    with connected() as server:
        for _ in range(STEPS):
            x = random.normal(size=(BATCH, FEATURES))
            server.send(x.T @ (x @ weights - x @ TRUTH) / BATCH)
            weights = server.recv()
    print(f"throughput={STEPS * BATCH / (time.perf_counter() - started):.6g}")


if os.environ["ANUBIS_ROLE"] == "server":
    serve()
else:
    work()
