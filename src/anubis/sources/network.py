"""What sources on a network share: timeouts, and the addresses that must not be reached.

These are link-local addresses, and those at which clouds give credentials to a machine.
"""

import ipaddress
from dataclasses import dataclass

from anubis.model.cause import Cause
from anubis.model.errors import SourceError
from anubis.settings import setting

#: Metadata services outside the link-local networks: AWS (IPv6), Alibaba, Azure, Oracle.
_METADATA = {
    ipaddress.ip_address(text)
    for text in ("fd00:ec2::254", "fd00:ec2::23", "100.100.100.200", "168.63.129.16", "192.0.0.192")
}


def _allow(text: str) -> bool:
    if text not in ("allow", "refuse"):
        raise ValueError("allow or refuse")
    return text == "allow"


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkSettings:
    """Settings of sources on a network."""

    #: `allow`: descriptors may name link-local addresses, among them the metadata services of clouds; redirects never lead there; `allow` or `refuse`; `refuse`
    link_local: bool = setting("ANUBIS_DATA_LINK_LOCAL", default=False, read=_allow)
    #: Longest time without data from a server; seconds
    patience_s: float = setting("ANUBIS_DATA_PATIENCE_S", default=30.0, least=0.1)


def is_local(host: str) -> bool:
    """Whether the text is an IP address that is link-local, or that of a metadata service."""
    try:
        address = ipaddress.ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    return address.is_link_local or address in _METADATA


def refuse_local(host: str, address: str) -> None:
    """Raise SourceError if ``address``, to which ``host`` resolves, is a local one."""
    if is_local(address):
        reached = host if host == address else f"{host} ({address})"
        raise SourceError(
            f"{reached} is a link-local address or a metadata service, which is not reached",
            cause=Cause.DATA_ADDRESS,
        )
