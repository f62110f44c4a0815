"""Data-parallel training with NumPy: every rank computes a gradient, and all ranks add them up.

Reads the variables that torchrun sets for its processes, so the same program runs under strategy "torchrun" and "mpi".
"""

import os
import socket
import time

import numpy as np

RANK, SIZE = int(os.environ["ANUBIS_RANK"]), int(os.environ["ANUBIS_WORLD_SIZE"])
ADDRESS = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
STEPS, BATCH, FEATURES = 200, 256, 64


def connected():
    """Sockets to all other ranks for rank 0, to rank 0 for the others."""
    if RANK == 0:
        with socket.create_server(ADDRESS, backlog=SIZE) as listener:
            return [listener.accept()[0] for _ in range(SIZE - 1)]
    for _ in range(600):
        try:
            return [socket.create_connection(ADDRESS)]
        except ConnectionRefusedError:  # rank 0 does not listen yet
            time.sleep(0.05)
    raise SystemExit("rank 0 does not listen")


def received(peer, array):
    """An array of the same shape from another rank."""
    data = bytearray(array.nbytes)
    view = memoryview(data)
    while view:
        count = peer.recv_into(view)
        if not count:
            raise SystemExit("another rank has ended")
        view = view[count:]
    return np.frombuffer(data, array.dtype)


def all_reduce(peers, array):
    """The sum of the arrays of all ranks."""
    if RANK == 0:
        total = array + sum(received(peer, array) for peer in peers)
        for peer in peers:
            peer.sendall(total.tobytes())
        return total
    peers[0].sendall(array.tobytes())
    return received(peers[0], array)


def main():
    peers = connected()
    random = np.random.default_rng(RANK)
    truth, weights = np.arange(FEATURES) / FEATURES, np.zeros(FEATURES)
    started = time.perf_counter()
    for _ in range(STEPS):
        x = random.normal(size=(BATCH, FEATURES))
        error = x @ weights - x @ truth
        weights = weights - 0.1 * all_reduce(peers, x.T @ error / BATCH) / SIZE
    seconds = time.perf_counter() - started
    print(f"throughput={STEPS * BATCH / seconds:.6g}")
    print(f"step={1000 * seconds / STEPS:.6g}")
    print(f"distance={np.abs(weights - truth).max() + 1e-12:.6g}")


main()
