"""A real HTTP server on this machine that receives records, and fails in the ways a test asks for."""

import socket
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from anubis.transfer.record_receiving import Request, respond

TOKEN = "a-token"


class Receiving:
    """A receiver of the records of one run, which can be stopped and started again at the same address."""

    def __init__(self, records, run, fault=lambda request: None):
        self.records = records
        self.run = run
        #: Called with a request; returns None, ``error``, ``refuse``, ``drop``, ``cut`` (in the body) or ``lose`` (the answer).
        self.fault = fault
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        self._server = None

    def url(self, attempt=1, role="benchmark", rank=0):
        return f"http://127.0.0.1:{self._port}/api/runs/{self.run.id}/record/{attempt}/{role}/{rank}"

    def start(self):
        receiving = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1

            def answer(self):
                receiving.answer(self)

            do_GET = do_PUT = do_POST = answer  # noqa: N815  the standard library's names

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", self._port), Handler)
        self._server.handle_error = lambda *_: None  # a connection that a test cuts is not an event
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def stop(self):
        if self._server:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def answer(self, handler):
        if self._server is None:  # a connection that outlived the server
            handler.close_connection = True
            return
        _, _, target = handler.path.partition(f"/api/runs/{self.run.id}/record/")
        request = Request(
            method=handler.command, target=target, headers=dict(handler.headers), body=handler.rfile
        )
        fault = self.fault(request)
        if fault == "drop":
            handler.close_connection = True
            return
        if fault == "cut":
            handler.rfile.read(int(handler.headers.get("Content-Length", 0)) // 2)
            handler.close_connection = True
            return
        if fault == "error":
            reply(handler, 500, b"<html>", close=True)
            return
        if handler.headers["Authorization"] != f"Bearer {TOKEN}":
            reply(handler, 401, b'{"error": "the token is not valid for this run"}', close=True)
            return
        response = respond(self.records, self.run, request)
        if fault == "lose":
            handler.close_connection = True
            return
        reply(handler, response.status, response.body, close=response.close)


def reply(handler, status, body, *, close):
    handler.close_connection = handler.close_connection or close
    handler.send_response(status)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


@contextmanager
def receiving(records, run, fault=lambda request: None):
    receiver = Receiving(records, run, fault)
    receiver.start()
    try:
        yield receiver
    finally:
        receiver.stop()
