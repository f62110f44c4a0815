"""Files of FTP servers, with and without TLS: transfers that are continued, folders, refusals."""

import random
import ssl
import subprocess
import threading
import warnings

import pytest

from anubis.model.cause import Cause
from anubis.model.errors import StageError
from anubis.sources.ftp import FtpSource
from anubis.sources.network import NetworkSettings
from anubis.testing.contracts.source import CONTENT, ServedFile, SourceContract
from support.datasets import cache_in, content, fetched

with warnings.catch_warnings():  # pyftpdlib imports asyncore
    warnings.simplefilter("ignore", DeprecationWarning)
    from pyftpdlib.authorizers import DummyAuthorizer
    from pyftpdlib.handlers import FTPHandler, TLS_FTPHandler
    from pyftpdlib.servers import ThreadedFTPServer

LARGE = random.Random(4).randbytes(18 << 20)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A file with a key and a certificate for localhost."""
    path = tmp_path_factory.mktemp("tls") / "server.pem"
    command = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost"
    subprocess.run(
        [*command.split(), "-keyout", path, "-out", f"{path}.crt"], check=True, capture_output=True
    )
    path.write_text(path.read_text() + path.with_name("server.pem.crt").read_text())
    return path


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "served"
    (folder / "train/a b").mkdir(parents=True)
    (folder / "train/a b/#1").write_bytes(b"one")
    (folder / "train/two").write_bytes(b"two")
    (folder / "large").write_bytes(LARGE)
    return folder


def serve(folder, handler):
    """A server in a thread; its port, and the function that ends it."""
    authorizer = DummyAuthorizer()
    authorizer.add_user("ada", "pass word", str(folder))
    authorizer.add_anonymous(str(folder))
    kind = type("Handler", (handler,), {"authorizer": authorizer, "log": lambda *_, **__: None})
    server = ThreadedFTPServer(("127.0.0.1", 0), kind)
    thread = threading.Thread(target=server.serve_forever, kwargs={"timeout": 0.05, "handle_exit": False})
    thread.start()

    def end():
        server.close_all()
        thread.join()

    return server.address[1], end


@pytest.fixture
def server(folder):
    port, end = serve(folder, FTPHandler)
    yield f"ftp://127.0.0.1:{port}"
    end()


@pytest.fixture
def tls_server(folder, certificate):
    handler = type(
        "Tls",
        (TLS_FTPHandler,),
        {"certfile": str(certificate), "tls_control_required": True, "tls_data_required": True},
    )
    port, end = serve(folder, handler)
    yield f"ftps://localhost:{port}"
    end()


@pytest.fixture
def cache(tmp_path, certificate):
    cache = cache_in(tmp_path)
    trusted = ssl.create_default_context(cafile=str(certificate))
    settings = NetworkSettings(patience_s=5)
    cache._sources.update(ftp=FtpSource(settings), ftps=FtpSource(settings, trusted))
    return cache


def failure(cache, src):
    with pytest.raises(StageError) as raised:
        fetched(cache, src)
    return raised.value


def test_a_large_file_is_fetched_in_parts(cache, server):
    assert content(cache, fetched(cache, f"{server}/large")) == {"": LARGE}


def test_a_folder_and_a_user(cache, server):
    address = server.replace("ftp://", "ftp://ada:pass%20word@")
    dataset = fetched(cache, f"{address}/train/")
    assert content(cache, dataset) == {"a b/#1": b"one", "two": b"two"}


def test_a_file_that_did_not_change_is_not_fetched_again(cache, server, folder, monkeypatch):
    fetched(cache, f"{server}/train/two")
    monkeypatch.setattr(cache._sources["ftp"], "open", None)
    fetched(cache, f"{server}/train/two")


def test_tls(cache, tls_server):
    assert content(cache, fetched(cache, f"{tls_server}/train/two")) == {"": b"two"}


def test_a_certificate_that_is_not_trusted(cache, tls_server):
    cache._sources["ftps"] = FtpSource(NetworkSettings(patience_s=5))
    error = failure(cache, f"{tls_server}/train/two")
    assert (error.cause, "SSL_CERT_FILE" in str(error)) == (Cause.DATA_UNAVAILABLE, True)


def test_refusals(cache, server):
    assert failure(cache, f"{server}/missing").cause is Cause.DATA_NOT_FOUND
    assert failure(cache, f"{server}/x%0aDELE").cause is Cause.DATA
    wrong = failure(cache, f"{server.replace('ftp://', 'ftp://ada:wrong@')}/large")
    assert (wrong.cause, "wrong" in str(wrong)) == (Cause.DATA_FORBIDDEN, False)
    assert failure(cache, "ftp://127.0.0.1:9/x").cause is Cause.DATA_UNAVAILABLE
    assert failure(cache, "ftp://169.254.169.254/x").cause is Cause.DATA_ADDRESS


class TestFtp(SourceContract):
    @pytest.fixture
    def served(self, server, folder):
        path = folder / "file"
        path.write_bytes(CONTENT)
        source = FtpSource(NetworkSettings(patience_s=5))
        return ServedFile(
            source=source, url=f"{server}/file", missing=f"{server}/missing", replace=path.write_bytes
        )
