"""A small inference server: one request is one prediction of a linear model."""

import json
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

import numpy as np

WEIGHTS = np.random.default_rng(0).normal(size=(256, 10))


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        """``/ping``: the server is ready; any other path: one prediction."""
        started = time.perf_counter()
        answer = {"status": "ready"}
        if self.path != "/ping":
            answer = {"class": int((np.ones(256) @ WEIGHTS).argmax())}
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        if self.path != "/ping":
            print(f"service_time={1000 * (time.perf_counter() - started):.6g}", flush=True)

    def log_message(self, *_):
        """No access log."""


HTTPServer(("127.0.0.1", 18321), Handler).serve_forever()
