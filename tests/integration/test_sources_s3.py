"""Objects of an S3 service: single ones and folders, with a manifest, changes and refusals."""

import random
import threading
from contextlib import closing

import pytest
from moto.server import ThreadedMotoServer

from anubis.model.cause import Cause
from anubis.model.errors import StageError
from anubis.sources.network import NetworkSettings
from anubis.sources.s3 import S3Source
from anubis.testing.contracts.source import CONTENT, ServedFile, SourceContract
from support.datasets import cache_in, content, fetched

LARGE = random.Random(3).randbytes(18 << 20)


@pytest.fixture(scope="module")
def service():
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    yield "http://{}:{}".format(*server.get_host_and_port())
    server.stop()


@pytest.fixture
def bucket(service, monkeypatch):
    """A client of the service, with a new bucket."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", service)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    source = S3Source(NetworkSettings(patience_s=10))
    with closing(source._client) as client:
        client.create_bucket(Bucket="data")
        yield client
        for page in client.get_paginator("list_objects_v2").paginate(Bucket="data"):
            for row in page.get("Contents", ()):
                client.delete_object(Bucket="data", Key=row["Key"])
        client.delete_bucket(Bucket="data")


@pytest.fixture
def cache(bucket, tmp_path):
    cache = cache_in(tmp_path)
    cache._sources["s3"] = S3Source(NetworkSettings(patience_s=10))
    return cache


def failure(cache, src):
    with pytest.raises(StageError) as raised:
        fetched(cache, src)
    return raised.value.cause


@pytest.mark.parametrize("key", ["train.bin", "a b/ü#?%41.bin"])
def test_an_object(cache, bucket, key):
    bucket.put_object(Bucket="data", Key=key, Body=b"content")
    assert content(cache, fetched(cache, f"s3://data/{key}")) == {"": b"content"}


def test_a_large_object_is_fetched_in_parts(cache, bucket):
    bucket.put_object(Bucket="data", Key="large", Body=LARGE)
    assert content(cache, fetched(cache, "s3://data/large")) == {"": LARGE}


@pytest.mark.parametrize("address", ["s3://data/train", "s3://data/train/"])
def test_a_folder_has_each_object_below_it(cache, bucket, address):
    objects = {f"{number}/{number}.bin": bytes([number]) * number for number in range(30)}
    for name, data in objects.items():
        bucket.put_object(Bucket="data", Key=f"train/{name}", Body=data)
    bucket.put_object(Bucket="data", Key="train/folder/", Body=b"")
    bucket.put_object(Bucket="data", Key="training", Body=b"another")
    assert content(cache, fetched(cache, address)) == objects


def test_only_changed_objects_of_a_folder_are_fetched_again(cache, bucket, monkeypatch):
    for name in ("a", "b", "c"):
        bucket.put_object(Bucket="data", Key=f"train/{name}", Body=name.encode())
    fetched(cache, "s3://data/train")
    bucket.put_object(Bucket="data", Key="train/b", Body=b"changed")
    bucket.delete_object(Bucket="data", Key="train/c")
    source, opened = cache._sources["s3"], []
    monkeypatch.setattr(
        source, "open", lambda file, *more: opened.append(file.path) or S3Source.open(source, file, *more)
    )
    assert content(cache, fetched(cache, "s3://data/train")) == {"a": b"a", "b": b"changed"}
    assert opened == ["b"]


def test_an_object_that_changes_while_it_is_fetched(cache, bucket, monkeypatch):
    bucket.put_object(Bucket="data", Key="large", Body=LARGE)
    source, once = cache._sources["s3"], threading.Lock()

    def changing(file, *more):
        if once.acquire(blocking=False):
            bucket.put_object(Bucket="data", Key="large", Body=LARGE[::-1])
        return S3Source.open(source, file, *more)

    monkeypatch.setattr(source, "open", changing)
    assert content(cache, fetched(cache, "s3://data/large")) == {"": LARGE[::-1]}


def test_what_is_missing_has_its_cause(cache):
    assert failure(cache, "s3://data/nothing") is Cause.DATA_NOT_FOUND
    assert failure(cache, "s3://no-such-bucket/x") is Cause.DATA_NOT_FOUND
    assert failure(cache, "s3:///x") is Cause.DATA


def test_a_service_that_is_down(tmp_path, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    cache = cache_in(tmp_path)
    cache._sources["s3"] = S3Source(NetworkSettings(patience_s=5))
    assert failure(cache, "s3://data/x") is Cause.DATA_UNAVAILABLE


class TestS3(SourceContract):
    @pytest.fixture
    def served(self, bucket):
        def put(content):
            return bucket.put_object(Bucket="data", Key="file", Body=content)

        put(CONTENT)
        source = S3Source(NetworkSettings(patience_s=5))
        return ServedFile(source=source, url="s3://data/file", missing="s3://data/missing", replace=put)
