"""A real HTTP server on this machine that serves files with ranges, ETags and conditional requests, and faults."""

import hashlib
import re
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Request:
    path: str
    headers: dict

    @property
    def start(self):
        """First byte of the range that it asks for; 0 for a whole file."""
        match = re.match(r"bytes=(\d+)-", self.headers.get("range", ""))
        return int(match[1]) if match else 0

    @property
    def is_first_byte(self):
        """It asks for the size and the version."""
        return self.headers.get("range") == "bytes=0-0"


@dataclass
class Answer:
    """A response instead of the file."""

    status: int
    headers: dict = field(default_factory=dict)
    body: bytes = b""


@dataclass
class Truncated:
    """The response announces all bytes, and ends after so many."""

    after: int


@dataclass
class Slow:
    """The response stops after so many bytes until the server is released."""

    after: int


@dataclass
class Drip:
    """The response sends one byte at a time, with pauses."""

    pause_s: float


class FileServer:
    def __init__(self, files):
        self.files = dict(files)
        self.requests = []
        #: Takes a Request and returns a fault, or None for the file.
        self.fault = lambda request: None
        self.ranges = True
        self.etags = True
        #: Set when a slow response has stopped, and to let it continue.
        self.stopped, self.released = threading.Event(), threading.Event()
        self.url = ""

    def of(self, path):
        """The requests for the content of a path, without those for the first byte."""
        return [one for one in self.requests if one.path == path and not one.is_first_byte]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1

    def do_GET(self):
        state = self.server.state
        request = Request(self.path, {name.lower(): value for name, value in self.headers.items()})
        with self.server.lock:
            state.requests.append(request)
            fault = state.fault(request)
        content = state.files.get(self.path)
        if isinstance(fault, Answer):
            self.start(fault.status, {"Content-Length": len(fault.body), **fault.headers})
            self.wfile.write(fault.body)
        elif content is None:
            self.start(404, {"Content-Length": 0})
        else:
            self.send_file(request, content, fault)

    def send_file(self, request, content, fault):
        state = self.server.state
        etag = f'"{hashlib.sha256(content).hexdigest()[:16]}"'
        headers = {"ETag": etag} if state.etags else {}
        if state.etags and request.headers.get("if-none-match") == etag:
            self.start(304, headers)
            return
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", request.headers.get("range", ""))
        body, status = content, 200
        if asked and state.ranges and request.headers.get("if-range", etag) == etag:
            start, stop = int(asked[1]), int(asked[2] or len(content) - 1) + 1
            if start >= len(content):
                self.start(416, {"Content-Range": f"bytes */{len(content)}", "Content-Length": 0})
                return
            body, status = content[start:stop], 206
            headers["Content-Range"] = f"bytes {start}-{start + len(body) - 1}/{len(content)}"
        self.start(status, {**headers, "Content-Length": len(body)})
        self.send_body(body, fault)

    def send_body(self, body, fault):
        state = self.server.state
        if isinstance(fault, Drip):
            for at in range(len(body)):
                self.wfile.write(body[at : at + 1])
                self.wfile.flush()
                if state.released.wait(fault.pause_s):
                    break
        elif isinstance(fault, Slow):
            self.wfile.write(body[: fault.after])
            self.wfile.flush()
            state.stopped.set()
            state.released.wait(30)
            self.wfile.write(body[fault.after :])
        elif isinstance(fault, Truncated):
            self.wfile.write(body[: fault.after])
            self.wfile.flush()
            self.close_connection = True
        else:
            self.wfile.write(body)

    def start(self, status, headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, str(value))
        self.end_headers()

    def finish(self):
        try:
            super().finish()
        except OSError:
            self.connection.close()

    def handle(self):
        try:
            super().handle()
        except OSError:
            self.close_connection = True

    def log_message(self, *_):
        pass


@contextmanager
def serving(files):
    """A FileServer on a free port of 127.0.0.1 with these files: path -> bytes."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.state, server.lock = FileServer(files), threading.Lock()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    server.state.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield server.state
    finally:
        server.state.released.set()
        server.shutdown()
        thread.join()
        server.server_close()
