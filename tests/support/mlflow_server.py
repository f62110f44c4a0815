"""A server that follows MLflow's REST API, on a port of the loopback interface."""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class MlflowServer:
    """Experiments and runs in pages of ``page`` entries. ``answers`` are given first: (status, headers, body)."""

    def __init__(self, *, page=2):
        self.page = page
        self.experiments = []
        self.runs = []
        self.answers = []
        #: Path, headers and body of each request.
        self.requests = []
        self.address = ""

    def add(
        self,
        experiment,
        run_id,
        metrics,
        *,
        status="FINISHED",
        start_time=1_700_000_000_000,
        params=(),
        tags=(),
    ):
        number = str(len(self.experiments))
        for each in self.experiments:
            if each["name"] == experiment:
                number = each["experiment_id"]
                break
        else:
            self.experiments.append(
                {"experiment_id": number, "name": experiment, "lifecycle_stage": "active"}
            )
        info = {"run_id": run_id, "experiment_id": number, "status": status, "start_time": start_time}
        data = {
            "metrics": [
                {"key": key, "value": value, "timestamp": 1, "step": 0} for key, value in metrics.items()
            ],
            "params": [{"key": key, "value": value} for key, value in dict(params).items()],
            "tags": [{"key": key, "value": value} for key, value in dict(tags).items()],
        }
        self.runs.append({"info": info, "data": data})

    def answer(self, path, body):
        if path == "/api/2.0/mlflow/experiments/search":
            return self._page("experiments", self.experiments, body)
        if path == "/api/2.0/mlflow/runs/search":
            asked = body["experiment_ids"]
            return self._page("runs", [r for r in self.runs if r["info"]["experiment_id"] in asked], body)
        return None

    def _page(self, noun, entries, body):
        start = int(body.get("page_token", "0"))
        end = start + min(self.page, body["max_results"])
        more = {"next_page_token": str(end)} if end < len(entries) else {}
        return {noun: entries[start:end], **more} if entries else {}


@contextmanager
def serving(server):
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            server.requests.append((self.path, dict(self.headers), body))
            status, headers, answer = server.answers.pop(0) if server.answers else (200, {}, None)
            if answer is None:
                answer = server.answer(self.path, body)
            content = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response(404 if answer is None and status == 200 else status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_):
            pass

    listener = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.address = f"http://127.0.0.1:{listener.server_port}"
    thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        listener.shutdown()
        listener.server_close()
        thread.join()
