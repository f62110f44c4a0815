"""Multiply two matrices for a while and print the rate of every multiplication."""

import os
import time

import numpy as np

SIZE = int(os.environ["SIZE"])
SECONDS = 0.5


def main():
    generator = np.random.default_rng(0)
    left, right = generator.standard_normal((2, SIZE, SIZE), dtype=np.float32)
    product = left @ right  # the first one starts the threads and finds the memory
    end = time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        start = time.perf_counter()
        np.matmul(left, right, out=product)
        elapsed_s = time.perf_counter() - start
        print(f"{SIZE}x{SIZE}: {2 * SIZE**3 / elapsed_s / 1e9:.3f} GFLOP/s")


if __name__ == "__main__":
    main()
