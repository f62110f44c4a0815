import sqlite3
import sys

import pytest

from anubis.model.errors import AnubisError, BadInputError, StoreError
from anubis.store.sql import drivers
from anubis.store.sql.drivers import driver_for


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("sqlite:////tmp/a b%20c?.db", "/tmp/a b%20c?.db"),
        ("postgresql://me:secret@host:5433/name?sslmode=disable", "host:5433/name"),
        ("postgresql+psycopg://host/name", "host/name"),
        ("postgres:///name", "/name"),
    ],
)
def test_a_url_names_a_place_without_a_password(url, place):
    assert driver_for(url).place == place


def test_a_relative_path_is_shown_whole(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert driver_for("sqlite:///here.db").place == str(tmp_path / "here.db")


@pytest.mark.parametrize(
    "url", ["", "mysql://host/name", "sqlite://", "sqlite:///", "sqlite:///:memory:", "/a/path", "postgresql"]
)
def test_another_url_is_bad_input(url):
    with pytest.raises(BadInputError) as caught:
        driver_for(url)
    assert "ANUBIS_DATABASE_URL" in caught.value.remedy


def test_an_old_sqlite_is_named(monkeypatch):
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 34, 1))
    with pytest.raises(AnubisError, match=r"3\.35"):
        driver_for("sqlite:////tmp/a.db")


def test_a_missing_driver_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(StoreError, match="psycopg") as caught:
        driver_for("postgresql://host/name")
    assert "anubis-bench[postgresql]" in caught.value.remedy


def test_commits_wait_for_the_disk_only_where_they_must():
    no, yes = drivers.driver_for("sqlite:////tmp/a.db").durable
    assert (no, yes) == ("PRAGMA synchronous = NORMAL", "PRAGMA synchronous = FULL")
