"""What sources on a network share: timeouts, and the hosts and addresses that may be reached.

Link-local addresses, and those at which clouds give credentials to a machine, are not reached. A host is resolved once,
its addresses are checked, and the connection is made to an address that was checked.
"""

import ipaddress
import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass

from anubis.model.cause import Cause
from anubis.model.errors import SourceError
from anubis.settings import Settings, load, setting

#: Metadata services outside the link-local networks: AWS (IPv6), Alibaba, Azure, Oracle.
_METADATA = {
    ipaddress.ip_address(text)
    for text in ("fd00:ec2::254", "fd00:ec2::23", "100.100.100.200", "168.63.129.16", "192.0.0.192")
}


def _allow(text: str) -> bool:
    if text not in ("allow", "refuse"):
        raise ValueError("allow or refuse")
    return text == "allow"


#: Patterns of hosts: every host, and every host with an address of the internet.
ANY, PUBLIC = "*", "public"
_NAME = re.compile(r"(\*\.)?[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?")


def _hosts(text: str) -> tuple[str, ...]:
    patterns = tuple(part.strip().lower().rstrip(".") for part in text.split(","))
    if not all(each in (ANY, PUBLIC) or _network(each) or _NAME.fullmatch(each) for each in patterns):
        raise ValueError(
            "a list of names of hosts (data.example.org, *.example.org), networks (10.1.0.0/16), public or *,"
            " separated by commas"
        )
    return patterns


def _network(pattern: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    """The network of a pattern; None: it is not one."""
    try:
        return ipaddress.ip_network(pattern.strip("[]"), strict=False)
    except ValueError:
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkSettings:
    """Settings of sources on a network."""

    #: `allow`: descriptors may name link-local addresses, among them the metadata services of clouds; redirects never lead there; `allow` or `refuse`; `refuse`
    link_local: bool = setting("ANUBIS_DATA_LINK_LOCAL", default=False, read=_allow)
    #: Longest time without data from a server; seconds
    patience_s: float = setting("ANUBIS_DATA_PATIENCE_S", default=30.0, least=0.1)
    #: Hosts from which data may be fetched: names (`data.example.org`, `*.example.org`), networks (`10.1.0.0/16`), `public` for all addresses of the internet, `*` for all; comma-separated patterns; `*`, and `public` where benchmarks run in a sandbox
    hosts: tuple[str, ...] = setting("ANUBIS_DATA_HOSTS", default=(ANY,), read=_hosts)


def settings_of(core: Settings, environ: Mapping[str, str]) -> NetworkSettings:
    """The settings of an installation. Raises BadInputError."""
    is_default = core.sandbox == "on" and not environ.get("ANUBIS_DATA_HOSTS", "").strip()
    return load(NetworkSettings, environ, **({"hosts": (PUBLIC,)} if is_default else {}))


@dataclass(frozen=True, slots=True)
class Guard:
    """Decides which hosts may be reached, and at which addresses."""

    settings: NetworkSettings
    #: Link-local addresses may be reached.
    link_local: bool = False

    def refusal(self, host: str) -> str:
        """Why a host must not be reached, as far as its name says it; empty: its addresses decide."""
        name = _plain(host)
        if not self.link_local and is_local(name):
            return f"{name} is a link-local address or a metadata service, which is not reached"
        if self._allows_name(name) or self._allows_address(name):
            return ""
        if not _is_address(name) and any(each == PUBLIC or _network(each) for each in self.settings.hosts):
            return ""
        return f"{name} is not one of the hosts from which data may be fetched"

    def check_name(self, host: str) -> None:
        """Raise SourceError for a host that must not be reached, as far as its name says it."""
        if reason := self.refusal(host):
            raise SourceError(reason, cause=Cause.DATA_ADDRESS)

    def addresses(self, host: str, port: int) -> list[str]:
        """The addresses of a host to which connections may be made. Raises SourceError, and OSError if it has none."""
        self.check_name(host)
        name = _plain(host)
        found = list(
            dict.fromkeys(str(row[4][0]) for row in socket.getaddrinfo(name, port, type=socket.SOCK_STREAM))
        )
        for address in found:
            if not self.link_local:
                refuse_local(host, address)
        allowed = [each for each in found if self._allows_name(name) or self._allows_address(each)]
        if not allowed:
            reached = name if name in found else f"{name} ({found[0]})"
            raise SourceError(
                f"{reached} is not one of the hosts from which data may be fetched", cause=Cause.DATA_ADDRESS
            )
        return allowed

    def _allows_name(self, name: str) -> bool:
        for pattern in self.settings.hosts:
            if pattern in (ANY, name) or (pattern.startswith("*.") and name.endswith(pattern[1:])):
                return True
        return False

    def _allows_address(self, text: str) -> bool:
        address = _address(text)
        if address is None:
            return False
        for pattern in self.settings.hosts:
            network = _network(pattern)
            if (pattern == PUBLIC and address.is_global and not address.is_multicast) or (
                network and address.version == network.version and address in network
            ):
                return True
        return False


def _plain(host: str) -> str:
    return host.strip("[]").lower().rstrip(".")


def _is_address(text: str) -> bool:
    return _address(text) is not None


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The address that a text is, of version 4 if it is one in a form of version 6; None: it is a name."""
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return (address.version == 6 and address.ipv4_mapped) or address


def is_local(host: str) -> bool:
    """Whether the text is an IP address that is link-local, or that of a metadata service."""
    address = _address(host.strip("[]"))
    return address is not None and (address.is_link_local or address in _METADATA)


def refuse_local(host: str, address: str) -> None:
    """Raise SourceError if ``address``, to which ``host`` resolves, is a local one."""
    if is_local(address):
        reached = host if host == address else f"{host} ({address})"
        raise SourceError(
            f"{reached} is a link-local address or a metadata service, which is not reached",
            cause=Cause.DATA_ADDRESS,
        )
