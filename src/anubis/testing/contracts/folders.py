"""The contract of ``Objects`` as tests, with a fixture ``objects``."""

import io
from typing import Any

import pytest

from anubis.model.errors import NotFoundError


class ObjectsContract:
    """Bytes by key."""

    @pytest.mark.parametrize(
        "data", [b"", b"some bytes", bytes(range(256)) * 10_000], ids=["none", "few", "many"]
    )
    def test_bytes_come_back(self, objects: Any, data: bytes) -> None:
        assert objects.put("sha256/abc.tar", io.BytesIO(data)) == len(data)
        with objects.open("sha256/abc.tar") as stream:
            assert stream.read() == data

    def test_a_key_may_be_put_again(self, objects: Any) -> None:
        for data in (b"old and long", b"new"):
            objects.put("key", io.BytesIO(data))
        with objects.open("key") as stream:
            assert stream.read() == b"new"

    def test_an_unknown_key_is_not_found(self, objects: Any) -> None:
        objects.put("a/b", io.BytesIO(b"x"))
        for key in ("b", "a", "a/b/c"):
            with pytest.raises(NotFoundError):
                objects.open(key)

    def test_a_stream_that_breaks_leaves_nothing(self, objects: Any) -> None:
        class Broken(io.RawIOBase):
            def read(self, _size: int = -1) -> bytes:
                raise ConnectionError("gone")

        with pytest.raises(ConnectionError):
            objects.put("key", Broken())
        with pytest.raises(NotFoundError):
            objects.open("key")

    def test_keys_have_addresses(self, objects: Any) -> None:
        objects.put("a/b", io.BytesIO(b"x"))
        assert objects.url("a/b").endswith("a/b")
        assert ":" in objects.url("a/b")
