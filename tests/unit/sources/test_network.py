"""Link-local addresses and metadata services are not reached: by address, by name, or through a redirect."""

import ipaddress

import pytest

from anubis.model.cause import Cause
from anubis.model.errors import SourceError
from anubis.sources import network
from anubis.sources.network import NetworkSettings
from anubis.sources.web import Web
from support.file_server import Answer, serving


@pytest.fixture
def server():
    with serving({"/file": b"content"}) as running:
        yield running


@pytest.fixture
def local_is_metadata(monkeypatch):
    """127.0.0.1 counts as the address of a metadata service."""
    monkeypatch.setattr(network, "_METADATA", {ipaddress.ip_address("127.0.0.1")})


@pytest.mark.parametrize(
    "host",
    [
        "169.254.169.254",
        "169.254.0.1",
        "[fe80::1]",
        "[fe80::1%eth0]",
        "[::ffff:169.254.169.254]",
        "100.100.100.200",
    ],
)
def test_a_local_address(host):
    assert network.is_local(host)
    with pytest.raises(SourceError) as raised:
        Web(NetworkSettings(link_local=False, patience_s=1)).get(f"http://{host}/latest", {})
    assert raised.value.cause is Cause.DATA_ADDRESS
    assert not raised.value.temporary


@pytest.mark.parametrize("host", ["127.0.0.1", "10.0.0.1", "[::1]", "example.org", "8.8.8.8"])
def test_another_address(host):
    assert not network.is_local(host)


def test_a_name_that_resolves_to_a_local_address(server, local_is_metadata):
    url = server.url.replace("127.0.0.1", "localhost")
    with pytest.raises(SourceError, match=r"localhost .127.0.0.1. is a link-local"):
        Web(NetworkSettings(link_local=False, patience_s=1)).get(f"{url}/file", {})
    assert server.requests == []
    assert Web(NetworkSettings(link_local=True, patience_s=1)).get(f"{url}/file", {}).status == 200


@pytest.mark.parametrize("link_local", [True, False])
def test_a_redirect_from_another_address(server, link_local):
    server.fault = lambda request: Answer(302, {"Location": "http://169.254.169.254/latest"})
    with pytest.raises(SourceError) as raised:
        Web(NetworkSettings(link_local=link_local, patience_s=1)).get(f"{server.url}/file", {})
    assert raised.value.cause is Cause.DATA_ADDRESS


def test_credentials_stay_with_their_host(server):
    with serving({"/file": b""}) as other:
        server.fault = lambda request: Answer(302, {"Location": f"{other.url}/file"})
        url = server.url.replace("http://", "http://ada:s3cret@")
        Web(NetworkSettings(link_local=False, patience_s=5)).get(f"{url}/x", {}).drain_conn()
    assert server.requests[0].headers["authorization"] == "Basic YWRhOnMzY3JldA=="
    assert "authorization" not in other.requests[0].headers
