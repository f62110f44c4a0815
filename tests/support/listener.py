"""A real HTTP server on this machine that stores its requests and answers them with a function."""

import json
import queue
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit


@dataclass
class Request:
    method: str
    path: str
    query: dict
    headers: dict
    body: bytes

    def json(self):
        return json.loads(self.body)


@dataclass
class Reply:
    status: int = 200
    #: Bytes as they are, anything else as JSON.
    body: object = b""
    headers: dict = field(default_factory=dict)


@dataclass
class Listener:
    url: str
    requests: list
    #: Every request again, for tests that wait for the next one.
    arrived: queue.SimpleQueue

    @property
    def last(self):
        return self.requests[-1]


@contextmanager
def listening(answer=lambda request: Reply()):
    """A server on a free port of 127.0.0.1; ``answer`` takes a Request and returns a Reply."""
    requests = []
    arrived = queue.SimpleQueue()
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        #: Head and body leave in one packet; in two, the second waits 40 ms for the first's acknowledgement.
        wbufsize = -1

        def answer(self):
            parts = urlsplit(self.path)
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            request = Request(self.command, parts.path, parse_qs(parts.query), headers, body)
            with lock:
                requests.append(request)
                reply = answer(request)
            content = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
            self.send_response(reply.status)
            for name, value in {"Content-Length": str(len(content)), **reply.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)
            arrived.put(request)

        do_GET = do_POST = do_PUT = do_PATCH = answer  # noqa: N815  http.server's names

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield Listener(f"http://127.0.0.1:{server.server_port}", requests, arrived)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
