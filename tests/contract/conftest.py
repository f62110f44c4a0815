import pytest

from anubis.store import open_store
from anubis.testing import FakeStore
from support.postgresql import postgresql, postgresql_url  # noqa: F401  fixtures

POSTGRESQL = pytest.param("postgresql", marks=pytest.mark.postgresql)


@pytest.fixture(params=["sqlite", POSTGRESQL])
def database_url(request, tmp_path):
    """An empty database of every kind, one after the other."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/anubis.db"
    return request.getfixturevalue("postgresql_url")


@pytest.fixture(params=["fake", "sqlite", POSTGRESQL])
def store(request, tmp_path):
    """Every implementation of the store, one after the other."""
    opened = {
        "fake": FakeStore,
        "sqlite": lambda: open_store(f"sqlite:///{tmp_path}/anubis.db"),
        "postgresql": lambda: open_store(request.getfixturevalue("postgresql_url")),
    }[request.param]()
    yield opened
    opened.close()
