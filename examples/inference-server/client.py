"""Sends requests to the server and measures them."""

import os
import time
import urllib.request

REQUESTS = 200
url = f"http://{os.environ['INFERENCE_SERVER_HOST']}:{os.environ['INFERENCE_SERVER_PORT']}/predict"
started = time.perf_counter()
for _ in range(REQUESTS):
    sent = time.perf_counter()
    with urllib.request.urlopen(url) as answer:
        answer.read()
    print(f"latency={1000 * (time.perf_counter() - sent):.6g}")
print(f"rate={REQUESTS / (time.perf_counter() - started):.6g}")
