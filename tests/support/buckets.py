"""A bucket on a server of this machine, which can be away, and can count and damage what it stores."""

import urllib.request
from contextlib import contextmanager
from importlib import import_module

import pytest

from anubis.store.bucket.connection import Bucket

CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "key",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
}


class BucketServer:
    """A server with the interface of S3 in this process. After ``stop`` it can be started again with the same content."""

    def __init__(self):
        self._server = None
        self._port = 0
        self.start()

    def start(self):
        # moto takes a second to import, which only the tests with a bucket need.
        threaded = import_module("moto.server").ThreadedMotoServer
        self._server = threaded(ip_address="127.0.0.1", port=self._port, verbose=False)
        self._server.start()
        self._port = self._server.get_host_and_port()[1]

    def stop(self):
        self._server.stop()

    @property
    def endpoint(self):
        return f"http://127.0.0.1:{self._port}"

    def create(self, name):
        """Create a bucket."""
        with urllib.request.urlopen(urllib.request.Request(f"{self.endpoint}/{name}", method="PUT")):
            pass

    @contextmanager
    def away(self):
        """Refuse connections until the end of the block."""
        self.stop()
        try:
            yield
        finally:
            self.start()


_names = iter(range(10**9))


@pytest.fixture(scope="session")
def bucket_server():
    server = BucketServer()
    yield server
    server.stop()


@pytest.fixture
def bucket_environ(bucket_server, monkeypatch):
    """The variables of an installation with a new bucket; those of the credentials are also in the environment."""
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    name = f"bucket-{next(_names)}"
    bucket_server.create(name)
    return {
        **CREDENTIALS,
        "ANUBIS_BUCKET": f"s3://{name}/some/prefix",
        "ANUBIS_BUCKET_ENDPOINT": bucket_server.endpoint,
    }


@pytest.fixture
def bucket(bucket_environ):
    """A new bucket."""
    opened = Bucket(bucket_environ["ANUBIS_BUCKET"], bucket_environ["ANUBIS_BUCKET_ENDPOINT"])
    yield opened
    opened.close()
