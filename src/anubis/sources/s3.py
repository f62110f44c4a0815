"""Source ``s3``: an object, or all objects below a prefix, of Amazon S3 or of another service with its API.

botocore finds the credentials, the region and the endpoint as the tools of AWS do, and signs addresses; the bytes are
fetched from these as from any web server. Needs the extra ``s3``.
"""

import socket
from collections.abc import Iterator
from functools import cached_property
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

from anubis.contracts.source import ByteStream, RemoteFile, shown_address
from anubis.contracts.world import Surroundings
from anubis.model.cause import Cause
from anubis.model.errors import BadInputError, SourceError
from anubis.sources.network import Guard, NetworkSettings, settings_of
from anubis.sources.web import Web

#: Time for which a signed address is valid, seconds.
_SIGNED_S = 3600
_NOT_FOUND = 404
_CAUSES = {401: Cause.DATA_FORBIDDEN, 403: Cause.DATA_FORBIDDEN, _NOT_FOUND: Cause.DATA_NOT_FOUND}


def build(surroundings: Surroundings) -> "S3Source":
    """Build the source; its entry point names this function. Raises BadInputError if botocore is not installed."""
    try:
        import_module("botocore.session")
    except ImportError as error:
        raise BadInputError(
            "reading s3: addresses needs botocore, which is not installed",
            remedy="install anubis-bench[s3]",
        ) from error
    return S3Source(settings_of(surroundings.settings, surroundings.environ))


class S3Source:
    """Reads objects."""

    def __init__(self, settings: NetworkSettings) -> None:
        self._web = Web(settings)
        self._guard = Guard(settings, settings.link_local)
        self._patience_s = settings.patience_s
        self._exceptions: Any = import_module("botocore.exceptions")

    def refusal(self, url: str) -> str:  # noqa: ARG002  the operator names the service
        """See the contract."""
        try:
            endpoint = self._client.meta.endpoint_url
        except self._exceptions.BotoCoreError:  # find reports it
            return ""
        return self._guard.refusal(urlsplit(endpoint).hostname or "")

    def find(self, url: str, version: str = "") -> tuple[RemoteFile, ...] | None:
        """See the contract. An object with the whole name, or else all objects in the folder of that name."""
        bucket, key = _parts(url)
        if key and not key.endswith("/"):
            found = self._object(url, bucket, key)
            if found:
                return None if found.version == version else (found,)
            key += "/"
        try:
            files = tuple(self._below(bucket, key))
        except (self._exceptions.BotoCoreError, self._exceptions.ClientError) as error:
            raise self._failed(url, error) from error
        if not files:
            raise SourceError(f"there are no objects at {shown_address(url)}", cause=Cause.DATA_NOT_FOUND)
        return files

    def open(self, file: RemoteFile, start: int, stop: int | None) -> ByteStream:
        bucket, key = _parts(file.url)
        try:
            signed = self._client.generate_presigned_url(
                "get_object", Params={"Bucket": bucket, "Key": key}, ExpiresIn=_SIGNED_S
            )
        except (self._exceptions.BotoCoreError, self._exceptions.ClientError) as error:
            raise self._failed(file.url, error) from error
        return self._web.open(signed, file.version, start, stop)

    @cached_property
    def _client(self) -> Any:
        session = import_module("botocore.session").Session()
        config = import_module("botocore.config").Config
        signed = (
            {} if session.get_credentials() else {"signature_version": import_module("botocore").UNSIGNED}
        )
        client = session.create_client(
            "s3",
            region_name=session.get_config_variable("region") or "us-east-1",
            config=config(
                connect_timeout=min(self._patience_s, 10.0),
                read_timeout=self._patience_s,
                retries={"total_max_attempts": 1},
                **signed,
            ),
        )
        client.meta.events.register("before-send.s3", self._check)
        return client

    def _check(self, request: Any, **_: Any) -> None:
        """Called by botocore before each request."""
        parts = urlsplit(request.url)
        try:
            self._guard.addresses(parts.hostname or "", parts.port or 0)
        except socket.gaierror:  # botocore names the address that it cannot resolve
            return

    def _object(self, url: str, bucket: str, key: str) -> RemoteFile | None:
        """The object with this key; None: there is none."""
        try:
            found = self._client.head_object(Bucket=bucket, Key=key)
        except self._exceptions.ClientError as error:
            if _status(error) == _NOT_FOUND:
                return None
            raise self._failed(url, error) from error
        except self._exceptions.BotoCoreError as error:
            raise self._failed(url, error) from error
        return RemoteFile(url=url, size_bytes=found["ContentLength"], version=found["ETag"], ranges=True)

    def _below(self, bucket: str, prefix: str) -> Iterator[RemoteFile]:
        for page in self._client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix):
            for row in page.get("Contents", ()):
                key = row["Key"]
                if not key.endswith("/"):  # an empty object that shows a folder
                    yield RemoteFile(
                        url=f"s3://{bucket}/{key}",
                        path=key[len(prefix) :],
                        size_bytes=row["Size"],
                        version=row["ETag"],
                        ranges=True,
                    )

    def _failed(self, url: str, error: Any) -> SourceError:
        address = shown_address(url)
        if isinstance(error, self._exceptions.ClientError):
            status, code = _status(error), error.response.get("Error", {}).get("Code", "")
            message = f"{address} answered {status} {code}".rstrip()
            temporary = status >= 500 or code in ("SlowDown", "RequestTimeout", "Throttling")
            cause = Cause.DATA_UNAVAILABLE if temporary else _CAUSES.get(status, Cause.DATA)
            return SourceError(message, cause=cause, temporary=temporary)
        if isinstance(error, (self._exceptions.ConnectionError, self._exceptions.HTTPClientError)):
            message = f"{address}: the service cannot be reached"
            return SourceError(message, cause=Cause.DATA_UNAVAILABLE, temporary=True)
        return SourceError(f"{address}: {error}", cause=Cause.DATA_FORBIDDEN)


def _parts(url: str) -> tuple[str, str]:
    """Bucket and key. A key may contain any character, also those with a meaning in other addresses."""
    bucket, _, key = url.partition("://")[2].partition("/")
    if not bucket:
        raise SourceError(f"{url} names no bucket", cause=Cause.DATA, remedy="write s3://BUCKET/KEY")
    return bucket, key


def _status(error: Any) -> int:
    return int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
