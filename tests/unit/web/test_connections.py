"""The limit of connections."""

import resource

import pytest

from anubis.web import connections


@pytest.mark.parametrize(
    ("soft", "hard", "wanted", "raised", "most"),
    [
        (1024, 20_000, 10_000, 10_512, 10_000),
        (1024, 4096, 10_000, 4096, 3584),
        (1024, resource.RLIM_INFINITY, 10_000, 10_512, 10_000),
        (20_000, 20_000, 10_000, None, 10_000),
        (resource.RLIM_INFINITY, resource.RLIM_INFINITY, 10_000, None, 10_000),
        (100, 100, 10_000, 100, 50),
        (20_000, 20_000, 3, None, 3),
    ],
)
def test_the_limit_of_open_files_is_raised_as_far_as_it_may_be(monkeypatch, soft, hard, wanted, raised, most):
    set_to = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: (soft, hard))
    monkeypatch.setattr(resource, "setrlimit", lambda _, limits: set_to.append(limits))
    assert connections.most_connections(wanted) == most
    assert set_to == ([] if raised is None else [(raised, hard)])


def test_a_request_without_a_server_has_no_connection():
    assert connections.of_scope({"type": "http"}) is None
