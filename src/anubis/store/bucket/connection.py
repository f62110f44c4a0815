"""Bytes by key in a bucket. Needs the extra ``s3``; botocore finds the credentials and the region as the tools of AWS do."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from functools import cached_property
from importlib import import_module
from typing import Any, BinaryIO, Self

from anubis.model.errors import BadInputError, ConflictError, NotFoundError, StoreError

#: After a failed connection, requests fail at once for this long, seconds: nothing waits for a bucket that is away.
AWAY_S = 10.0
#: Limits of one request, seconds.
_CONNECT_S, _READ_S = 5.0, 30.0
_NOT_FOUND, _CONFLICTS = 404, (409, 412)
_REMEDIES = {
    401: "check the credentials, for example AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
    403: "allow these credentials to read, write, list and delete the objects of the bucket",
    _NOT_FOUND: "create the bucket, or correct ANUBIS_BUCKET",
}


@dataclass(frozen=True, slots=True)
class Found:
    """A stored object."""

    #: Without the prefix of the bucket.
    key: str
    size_bytes: int
    #: UTC seconds.
    modified_s: float


class BucketAwayError(StoreError):
    """The bucket cannot be reached now; the call may be repeated."""


class DamagedObjectError(StoreError):
    """An object of the bucket has not the content that was written, or is missing."""

    exit_code = 2

    def __init__(self, message: str) -> None:
        remedy = "copy the record again: anubis worker in its home folder, or restore the object"
        super().__init__(message, remedy=remedy)


class Bucket:
    """The objects below a prefix of one bucket. May be used from several threads."""

    def __init__(
        self, address: str, endpoint: str = "", monotonic_s: Callable[[], float] = time.monotonic
    ) -> None:
        """``address`` is ``s3://BUCKET/PREFIX``; ``endpoint`` the URL of the service, by default as botocore finds it."""
        name, _, prefix = address.removeprefix("s3://").strip("/").partition("/")
        self.address = f"s3://{name}/{prefix}".rstrip("/")
        self._name = name
        self._prefix = f"{prefix}/" if prefix else ""
        self._endpoint = endpoint
        self._monotonic_s = monotonic_s
        self._lock = threading.Lock()
        self._away_until_s = -1.0
        #: Why the last request failed; empty if it was answered.
        self.problem = ""

    @property
    def is_away(self) -> bool:
        """Whether a request failed so recently that the next one is not sent."""
        return self._monotonic_s() < self._away_until_s

    def url(self, key: str) -> str:
        return f"{self.address}/{key}"

    def put(self, key: str, data: bytes) -> None:
        """Store bytes, atomically."""
        self._call("put_object", key, Body=data)

    def put_stream(self, key: str, stream: BinaryIO, size_bytes: int) -> None:
        """Store the bytes of a seekable stream, atomically."""
        self._call("put_object", key, Body=stream, ContentLength=size_bytes)

    def put_if(self, key: str, data: bytes, version: str | None) -> str:
        """Store bytes if the stored version is this one (None: there are none); the new version. Raises ConflictError."""
        condition = {"IfNoneMatch": "*"} if version is None else {"IfMatch": version}
        return str(self._call("put_object", key, Body=data, **condition)["ETag"])

    def get(self, key: str) -> bytes:
        """All bytes of a key. Raises NotFoundError."""
        return self.get_version(key)[0]

    def get_version(self, key: str) -> tuple[bytes, str]:
        """All bytes of a key, and their version. Raises NotFoundError."""
        answer = self._call("get_object", key)
        with self._failures("reading", key):
            return answer["Body"].read(), str(answer["ETag"])

    def open(self, key: str) -> BinaryIO:
        """The bytes of a key as a stream, which raises StoreError if the connection ends early. Raises NotFoundError."""
        answer = self._call("get_object", key)
        stream: Any = _Body(self, key, answer["Body"])
        return stream  # type: ignore[no-any-return]

    def size(self, key: str) -> int | None:
        """The size of a stored key; None: it is not stored."""
        try:
            return int(self._call("head_object", key)["ContentLength"])
        except NotFoundError:
            return None

    def age(self, key: str) -> tuple[float, str]:
        """Seconds since a key was written, by the clock of the service, and its version. Raises NotFoundError."""
        answer = self._call("head_object", key)
        now = parsedate_to_datetime(answer["ResponseMetadata"]["HTTPHeaders"]["date"])
        return (now - answer["LastModified"]).total_seconds(), str(answer["ETag"])

    def list(self, prefix: str) -> Iterator[Found]:
        """All keys that begin with a prefix, in their order."""
        yield from (found for page in self._pages(prefix) for found in page)

    def children(self, prefix: str) -> Sequence[Found]:
        """The keys that begin with a prefix and have no further slash."""
        return [found for page in self._pages(prefix, Delimiter="/") for found in page]

    def delete(self, key: str) -> None:
        """Delete a key; does nothing if it is not stored."""
        self._call("delete_object", key)

    def close(self) -> None:
        """Close the connections."""
        if "_client" in self.__dict__:
            self._client.close()

    def _pages(self, prefix: str, **options: str) -> Iterator[Sequence[Found]]:
        more: dict[str, str] = {}
        while True:
            answer = self._ask(
                "listing", prefix, "list_objects_v2", Prefix=self._prefix + prefix, **options, **more
            )
            yield [
                Found(row["Key"][len(self._prefix) :], row["Size"], row["LastModified"].timestamp())
                for row in answer.get("Contents", ())
            ]
            if not answer.get("IsTruncated"):
                return
            more = {"ContinuationToken": answer["NextContinuationToken"]}

    def _call(self, verb: str, key: str, **options: Any) -> Any:
        return self._ask(_WORDS[verb], key, verb, Key=self._prefix + key, **options)

    def _ask(self, what: str, key: str, verb: str, **options: Any) -> Any:
        if self.is_away:
            raise BucketAwayError(f"the bucket {self.address} is away: {self.problem}", remedy=_AWAY_REMEDY)
        with self._failures(what, key):
            answer = getattr(self._client, verb)(Bucket=self._name, **options)
        self.problem = ""
        return answer

    def _failures(self, what: str, key: str) -> "_Failures":
        return _Failures(self, what, key)

    def failed(self, what: str, key: str, error: Exception) -> Exception | None:
        """The error of the store for one of botocore; None for another error."""
        exceptions: Any = import_module("botocore.exceptions")
        if isinstance(error, exceptions.ClientError):
            return self._refused(what, key, error)
        if isinstance(error, (exceptions.BotoCoreError, OSError)):
            self.problem = " ".join(str(error).split()) or type(error).__name__
            if not isinstance(error, exceptions.NoCredentialsError):
                self._away_until_s = self._monotonic_s() + AWAY_S
            return BucketAwayError(
                f"the bucket {self.address} is away ({what} {key}): {self.problem}", remedy=_AWAY_REMEDY
            )
        return None

    def _refused(self, what: str, key: str, error: Any) -> Exception:
        status = int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
        code = error.response.get("Error", {}).get("Code", "")
        if status == _NOT_FOUND and code != "NoSuchBucket":
            return NotFoundError(f"there is no object {self.url(key)}", remedy="check the bucket")
        if status in _CONFLICTS:
            return ConflictError(f"{self.url(key)} was changed by another process", remedy="try again")
        self.problem = f"{what} {key}: {status} {code}".rstrip()
        if status >= 500 or code in ("SlowDown", "RequestTimeout", "Throttling"):
            self._away_until_s = self._monotonic_s() + AWAY_S
            return BucketAwayError(f"the bucket {self.address}: {self.problem}", remedy=_AWAY_REMEDY)
        return StoreError(
            f"the bucket {self.address}: {self.problem}",
            remedy=_REMEDIES.get(status, "check ANUBIS_BUCKET and ANUBIS_BUCKET_ENDPOINT"),
        )

    @cached_property
    def _client(self) -> Any:
        with self._lock:
            return _client(self._endpoint)


_WORDS = {
    "put_object": "writing",
    "get_object": "reading",
    "head_object": "reading",
    "delete_object": "deleting",
}
_AWAY_REMEDY = (
    "check the network, ANUBIS_BUCKET_ENDPOINT and the credentials; what waits is copied when it answers"
)


class _Failures:
    """Errors of botocore as errors of the store."""

    def __init__(self, bucket: Bucket, what: str, key: str) -> None:
        self._bucket = bucket
        self._what = what
        self._key = key

    def __enter__(self) -> None:
        return None

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, Exception) and (ours := self._bucket.failed(self._what, self._key, error)):
            raise ours from error


class _Body:
    """A stream of the body of an answer."""

    def __init__(self, bucket: Bucket, key: str, body: Any) -> None:
        self._bucket = bucket
        self._key = key
        self._body = body

    def read(self, size: int = -1) -> bytes:
        """Up to this many bytes; all that are left if it is negative."""
        with _Failures(self._bucket, "reading", self._key):
            return bytes(self._body.read(size if size >= 0 else None))

    def close(self) -> None:
        self._body.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _client(endpoint: str) -> Any:
    try:
        session = import_module("botocore.session").Session()
    except ImportError as error:
        raise BadInputError(
            "a bucket needs botocore, which is not installed", remedy="install anubis-bench[s3]"
        ) from error
    config = import_module("botocore.config").Config
    return session.create_client(
        "s3",
        region_name=session.get_config_variable("region") or "us-east-1",
        endpoint_url=endpoint or None,
        config=config(
            connect_timeout=_CONNECT_S,
            read_timeout=_READ_S,
            retries={"total_max_attempts": 2},
            max_pool_connections=20,
            # Services of other providers do not have the checksums that AWS has added; digests are compared anyway.
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
            s3={"addressing_style": "path" if endpoint else "auto"},
        ),
    )
