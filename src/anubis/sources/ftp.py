"""Source ``ftp`` and ``ftps``: a file, or a folder of servers that list folders with MLSD (RFC 3659).

``ftps`` is FTP with TLS: from the start at port 990, else requested by the command AUTH.
"""

import ftplib  # nosec B402  the protocol of this source
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import SplitResult, quote, unquote, urlsplit

from anubis.contracts.source import ByteStream, RemoteFile, shown_address
from anubis.contracts.world import Surroundings
from anubis.model.cause import Cause
from anubis.model.errors import SourceError
from anubis.sources.network import Guard, NetworkSettings, settings_of

_TLS_PORT = 990
_NOT_LOGGED_IN, _NO_FILE = "530", "550"
#: Nested folders that are listed.
_MOST_LEVELS = 64


def build(surroundings: Surroundings) -> "FtpSource":
    """Build the source; its entry points name this function."""
    return FtpSource(settings_of(surroundings.settings, surroundings.environ))


class FtpSource:
    """Reads files from FTP servers; each transfer has a connection."""

    def __init__(self, settings: NetworkSettings, tls: ssl.SSLContext | None = None) -> None:
        """``tls``: how certificates are verified; None: as the system does."""
        self._settings = settings
        self._tls = tls
        self._guard = Guard(settings, settings.link_local)

    def refusal(self, url: str) -> str:
        """See the contract."""
        try:
            host = urlsplit(url).hostname or ""
        except ValueError:
            return ""
        return self._guard.refusal(host) if host else ""

    def find(self, url: str, version: str = "") -> tuple[RemoteFile, ...] | None:
        parts = urlsplit(url)
        path = unquote(parts.path)
        with _named(url):
            ftp = self._connected(parts)
            try:
                if path.endswith("/"):
                    return tuple(_listed(ftp, parts, path.rstrip("/")))
                size, found = _state(ftp, path)
            finally:
                _close(ftp)
        if version and found == version:
            return None
        return (RemoteFile(url=url, size_bytes=size, version=found, ranges=size is not None),)

    def open(self, file: RemoteFile, start: int, stop: int | None) -> ByteStream:
        parts = urlsplit(file.url)
        path = unquote(parts.path)
        with _named(file.url):
            ftp = self._connected(parts)
            try:
                if file.version and _state(ftp, path)[1] != file.version:
                    raise SourceError(
                        f"{shown_address(file.url)} was replaced while it was fetched",
                        cause=Cause.DATA_CHANGED,
                    )
                data = ftp.transfercmd(f"RETR {path}", rest=start or None)
            except BaseException:
                _close(ftp)
                raise
        return _Transfer(ftp, data, file.url, None if stop is None else stop - start)

    def _connected(self, parts: SplitResult) -> ftplib.FTP:
        host = parts.hostname or ""
        port = parts.port or ftplib.FTP_PORT
        address = self._guard.addresses(host, port)[0]
        patience_s = self._settings.patience_s
        ftp = (
            _Tls(context=self._tls or ssl.create_default_context())
            if parts.scheme == "ftps"
            else ftplib.FTP()  # noqa: S321  # nosec B321
        )
        if isinstance(ftp, _Tls):
            ftp.from_start, ftp.server_name = parts.port == _TLS_PORT, host
        try:
            ftp.connect(address, port, timeout=patience_s)
            ftp.host = host  # the certificate is compared with it
            ftp.login(unquote(parts.username or ""), unquote(parts.password or ""))
            if isinstance(ftp, _Tls):
                ftp.prot_p()
            ftp.voidcmd("TYPE I")
        except BaseException:
            ftp.close()
            raise
        return ftp


class _Tls(ftplib.FTP_TLS):
    """FTP with TLS whose data connections continue the session of the control connection, which servers require."""

    from_start = False
    server_name = ""

    def connect(self, *args: Any, **options: Any) -> str:
        if not self.from_start:
            return super().connect(*args, **options)
        host, port = args
        self.host, self.port, self.timeout = host, port, options["timeout"]
        plain = socket.create_connection((host, port), self.timeout)
        self.af = plain.family
        self.sock = self.context.wrap_socket(plain, server_hostname=self.server_name)
        self.file = self.sock.makefile("r", encoding=self.encoding)
        self.welcome = self.getresp()
        return self.welcome

    def ntransfercmd(self, cmd: str, rest: int | str | None = None) -> tuple[socket.socket, int | None]:
        data, size = ftplib.FTP.ntransfercmd(self, cmd, rest)  # noqa: S321  # nosec B321
        assert isinstance(self.sock, ssl.SSLSocket)
        try:
            return (
                self.context.wrap_socket(data, server_hostname=self.host, session=self.sock.session),
                size,
            )
        except BaseException:
            data.close()
            raise


class _Transfer:
    """The bytes of a data connection, at most ``left`` of them."""

    def __init__(self, ftp: ftplib.FTP, data: socket.socket, url: str, left: int | None) -> None:
        self._ftp, self._data, self._url, self._left = ftp, data, url, left

    def read1(self, size: int, /) -> bytes:
        with _named(self._url):
            received = self._data.recv(size if self._left is None else min(size, self._left))
        if self._left is not None:
            self._left -= len(received)
        return received

    def close(self) -> None:
        with suppress(OSError):
            self._data.close()
        _close(self._ftp)


@contextmanager
def _named(url: str) -> Iterator[None]:
    """Turn the errors of ftplib and of the network into a SourceError."""
    address = shown_address(url)
    try:
        yield
    except ftplib.error_perm as error:
        code = str(error)[:3]
        causes = {_NOT_LOGGED_IN: Cause.DATA_FORBIDDEN, _NO_FILE: Cause.DATA_NOT_FOUND}
        raise SourceError(f"{address} answered {code}", cause=causes.get(code, Cause.DATA)) from error
    except ssl.SSLCertVerificationError as error:
        raise SourceError(
            f"{address}: its certificate is not accepted",
            cause=Cause.DATA_UNAVAILABLE,
            remedy="set SSL_CERT_FILE to the certificate of its authority",
        ) from error
    except ValueError as error:  # a line end in a path
        raise SourceError(f"{address} is not a valid address", cause=Cause.DATA) from error
    except (ftplib.Error, OSError, EOFError) as error:
        raise SourceError(
            f"{address}: the connection failed", cause=Cause.DATA_UNAVAILABLE, temporary=True
        ) from error


def _state(ftp: ftplib.FTP, path: str) -> tuple[int | None, str]:
    """Size and version (size and time of change) of a file; None and empty where the server does not say them."""
    try:
        size = ftp.size(path)
    except ftplib.error_perm as error:
        if str(error).startswith(_NO_FILE):
            raise
        return None, ""
    try:
        changed = ftp.voidcmd(f"MDTM {path}").partition(" ")[2].strip()
    except ftplib.error_perm:
        return size, ""
    return size, f"{size}-{changed}"


def _listed(
    ftp: ftplib.FTP, parts: SplitResult, top: str, below: str = "", level: int = 0
) -> Iterator[RemoteFile]:
    """All files of a folder."""
    if level > _MOST_LEVELS:
        raise SourceError(f"{top} has more than {_MOST_LEVELS} nested folders", cause=Cause.DATA)
    for name, facts in list(ftp.mlsd(f"{top}/{below}", ["type", "size", "modify"])):
        path = f"{below}{name}"
        if facts.get("type") == "dir":
            yield from _listed(ftp, parts, top, f"{path}/", level + 1)
        elif facts.get("type") == "file":
            size = int(facts["size"])
            yield RemoteFile(
                url=parts._replace(path=quote(f"{top}/{path}"), query="", fragment="").geturl(),
                path=path,
                size_bytes=size,
                version=f"{size}-{facts['modify']}" if "modify" in facts else "",
                ranges=True,
            )


def _close(ftp: ftplib.FTP) -> None:
    with suppress(OSError, EOFError):
        ftp.close()
