"""A connection between a client and a service that breaks."""

import contextlib
import socket
import threading
from urllib.parse import urlsplit


class Cutting:
    """A proxy on a loopback port that ends connections after so many bytes of answers, once for each number of ``after``.

    Every request has a separate connection, because the proxy announces that it closes them.
    """

    def __init__(self, url, *after):
        self._target = (urlsplit(url).hostname, urlsplit(url).port)
        self.after = list(after)
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.cuts = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        self._listener.close()

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        with client, socket.create_connection(self._target) as service:
            threading.Thread(target=self._forward, args=(client, service), daemon=True).start()
            sent = 0
            while data := _received(service):
                with self._lock:
                    if self.after and sent + len(data) > self.after[0]:
                        left = self.after.pop(0) - sent
                        self.cuts += 1
                        if left > 0:
                            client.sendall(data[:left])
                        break
                try:
                    client.sendall(data)
                except OSError:
                    break
                sent += len(data)
            for each in (client, service):
                with contextlib.suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)

    def _forward(self, client, service):
        while data := _received(client):
            try:
                service.sendall(data)
            except OSError:
                return


def _received(connection):
    try:
        return connection.recv(1 << 16)
    except OSError:
        return b""
