"""Errors of source ``ftp`` that need no server."""

import socket
import threading

import pytest

from anubis.model.cause import Cause
from anubis.model.errors import SourceError
from anubis.sources.ftp import FtpSource
from anubis.sources.network import NetworkSettings


def failure(url):
    with pytest.raises(SourceError) as raised:
        FtpSource(NetworkSettings(patience_s=5)).find(url)
    return raised.value


def test_a_server_that_refuses_connections_is_tried_again():
    with socket.socket() as bound:  # bound, but it does not listen
        bound.bind(("127.0.0.1", 0))
        error = failure(f"ftp://127.0.0.1:{bound.getsockname()[1]}/file")
    assert (error.cause, error.temporary) == (Cause.DATA_UNAVAILABLE, True)


def test_a_connection_that_ends_at_once_is_tried_again():
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(5)

        def hang_up():
            server.accept()[0].close()

        threading.Thread(target=hang_up, daemon=True).start()
        error = failure(f"ftp://127.0.0.1:{server.getsockname()[1]}/file")
    assert (error.cause, error.temporary) == (Cause.DATA_UNAVAILABLE, True)
