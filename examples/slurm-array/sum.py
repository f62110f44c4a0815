"""Sums numbers, and prints how many a second."""

import json
import sys
import time

count = int(sys.argv[1])
started_s = time.perf_counter()
total = sum(number * number for number in range(count))
print(json.dumps({"rate": count / (time.perf_counter() - started_s), "total": total}))
