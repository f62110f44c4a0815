"""Sorts random numbers and prints how many per second."""

import sys
import time

from numbers_to_sort import shuffled

values = shuffled(int(sys.argv[1]))
began = time.perf_counter()
values.sort()
print(f"rate={len(values) / (time.perf_counter() - began):.0f}")
