"""Link-local addresses and metadata services are not reached: by address, by name, or through a redirect."""

import ipaddress

import pytest

from anubis.model.cause import Cause
from anubis.model.errors import SourceError
from anubis.settings import Settings
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


def guard(*hosts, link_local=False):
    return network.Guard(NetworkSettings(hosts=network._hosts(",".join(hosts))), link_local)


@pytest.mark.parametrize(
    ("pattern", "host", "allowed"),
    [
        ("*", "127.0.0.1", True),
        ("*", "169.254.169.254", False),
        ("127.0.0.1", "127.0.0.1", True),
        ("127.0.0.0/8", "127.9.9.9", True),
        ("127.0.0.0/8", "[::ffff:127.0.0.1]", True),
        ("127.0.0.0/8", "10.0.0.1", False),
        ("::1/128", "[::1]", True),
        ("::1/128", "127.0.0.1", False),
        ("127.0.0.0/8", "localhost", True),
        ("localhost", "localhost", True),
        ("localhost", "LOCALHOST.", True),
        ("localhost", "127.0.0.1", False),
        ("*.example.org", "127.0.0.1", False),
        ("public", "127.0.0.1", False),
        ("public", "localhost", False),
        ("public", "10.1.2.3", False),
        ("public", "[fd00::1]", False),
        ("public", "[::ffff:10.0.0.1]", False),
        ("public", "224.0.0.1", False),
        ("public", "8.8.8.8", True),
        ("public", "2130706433", False),
        ("public", "127.1", False),
    ],
)
def test_allowed_hosts(pattern, host, allowed):
    if allowed:
        assert guard(pattern).addresses(host, 80)
        return
    with pytest.raises(SourceError) as raised:
        guard(pattern).addresses(host, 80)
    assert raised.value.cause is Cause.DATA_ADDRESS


@pytest.mark.parametrize(
    ("host", "refused"),
    [
        ("a.example.org", False),
        ("a.b.Example.org", False),
        ("example.org", True),
        ("aexample.org", True),
        ("example.org.evil.net", True),
    ],
)
def test_hosts_of_a_domain(host, refused):
    assert bool(guard("*.example.org").refusal(host)) is refused


@pytest.mark.parametrize("text", ["http://a", "a b", "*", "10.0.0.0/33", "a,,b", "**.org", "*.*.org", ""])
def test_patterns(text):
    if text == "*":
        assert network._hosts(text) == ("*",)
        return
    with pytest.raises(ValueError, match="names of hosts"):
        network._hosts(text)


def only(*hosts):
    return Web(NetworkSettings(hosts=network._hosts(",".join(hosts)), patience_s=1))


def test_a_redirect_to_a_host_that_is_not_allowed(server):
    url = server.url.replace("127.0.0.1", "localhost")
    server.fault = lambda request: Answer(302, {"Location": f"{server.url}/other"})
    with pytest.raises(SourceError, match=r"127.0.0.1 is not one of the hosts") as raised:
        only("localhost").get(f"{url}/file", {})
    assert raised.value.cause is Cause.DATA_ADDRESS
    assert len(server.requests) == 1


def test_a_name_that_resolves_to_an_address_that_is_not_allowed(server):
    url = server.url.replace("127.0.0.1", "localhost")
    with pytest.raises(SourceError, match=r"localhost .* is not one of the hosts"):
        only("10.0.0.0/8", "public").get(f"{url}/file", {})
    assert server.requests == []


def test_the_connection_is_made_to_the_address_that_was_checked(server, monkeypatch):
    """A name server that gives an allowed address first, and then another one."""
    real, answers = network.socket.getaddrinfo, iter(["127.0.0.1"])

    def resolve(host, *rest, **options):
        return real(next(answers, "169.254.169.254") if host == "rebinding.test" else host, *rest, **options)

    monkeypatch.setattr(network.socket, "getaddrinfo", resolve)
    url = server.url.replace("127.0.0.1", "rebinding.test")
    response = only("127.0.0.0/8").get(f"{url}/file", {})
    assert response.status == 200
    assert server.requests[0].headers["host"].startswith("rebinding.test")
    response.drain_conn()


def test_one_of_several_addresses_is_not_allowed(server, monkeypatch):
    real = network.socket.getaddrinfo

    def resolve(host, *rest, **options):
        names = ["10.255.255.1", "127.0.0.1"] if host == "both.test" else [host]
        return [row for name in names for row in real(name, *rest, **options)]

    monkeypatch.setattr(network.socket, "getaddrinfo", resolve)
    response = only("127.0.0.0/8").get(server.url.replace("127.0.0.1", "both.test") + "/file", {})
    assert response.status == 200
    response.drain_conn()


def test_where_benchmarks_run_in_a_sandbox(tmp_path):
    environ = {"ANUBIS_HOME": str(tmp_path), "ANUBIS_SANDBOX": "on"}
    assert network.settings_of(Settings.from_env(environ), environ).hosts == ("public",)
    environ["ANUBIS_DATA_HOSTS"] = "data.example.org, *.s3.amazonaws.com"
    assert network.settings_of(Settings.from_env(environ), environ).hosts == (
        "data.example.org",
        "*.s3.amazonaws.com",
    )
    assert network.settings_of(Settings.from_env({"ANUBIS_HOME": "/h"}), {}).hosts == ("*",)
