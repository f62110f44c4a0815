"""Joined workers behind a network that the test cuts, and one that measures in containers."""

import pytest

from anubis.record import layout
from support.agents import is_running
from support.joining import Site
from support.network import namespace  # noqa: F401  a fixture
from support.podman import IMAGE, podman  # noqa: F401  a fixture
from support.processes import until


@pytest.fixture
def site_of(tmp_path):
    """Starts a service."""
    sites = []

    def start(**environ):
        sites.append(Site(tmp_path, **environ))
        return sites[-1]

    yield start
    for site in sites:
        site.close()


def test_a_cut_that_is_shorter_than_the_lease_changes_nothing(site_of, namespace):  # noqa: F811
    site = site_of(ANUBIS_LEASE_S="60")
    namespace.forward(site.service.url)
    worker = site.worker("far", prefix=namespace.words)
    run_id = site.submit()
    site.wait_started(run_id)
    namespace.cut()
    site.open_gate()
    until(lambda: not worker.agents(), "the benchmark has ended")
    assert not site.shipped(run_id, layout.EXIT)
    namespace.heal()
    site.check_whole(run_id)
    assert "lost" not in site.kinds(run_id)
    until(worker.is_clean, "nothing is left at the worker")


def test_a_cut_that_is_longer_than_the_lease_ends_one_of_two_attempts(site_of, namespace):  # noqa: F811
    site = site_of()
    namespace.forward(site.service.url)
    far = site.worker("far", prefix=namespace.words)
    run_id = site.submit(more="[limits]\nretries = 1\nretry_pause_s = 0.1")
    site.wait_started(run_id)
    (agent,) = far.agents()
    namespace.cut()
    until(lambda: "lost" in site.kinds(run_id), "the attempt is lost")
    assert is_running(agent), "nothing tells the machine that is cut off"
    site.worker("near")
    site.wait_started(run_id, attempt=2)
    namespace.heal()
    until(lambda: not is_running(agent), "the machine that is back ends its attempt")
    site.open_gate()
    site.check_whole(run_id, attempt=2)
    until(far.is_clean, "and deletes it")
    assert not site.shipped(run_id, layout.EXIT, attempt=1)


def test_a_worker_measures_in_containers(site_of, podman):  # noqa: F811
    site = site_of()
    worker = site.worker("boxes", "--engine", "container", ANUBIS_CONTAINER_NETWORK="none")
    text = f"""spec_version = "1.0"
[info]
name = "contained"
execution_engine = "joined"
[env]
docker_image = "{IMAGE}"
[ml]
benchmark_code = "echo score=4.5"
[[output.metrics]]
name = "score"
units = "1"
pattern = 'score=(\\S+)'
"""
    run_id = site.submit(text=text)
    run = site.wait_final(run_id)
    assert run.status == "succeeded", run
    assert site.shipped(run_id, "stdout") == b"score=4.5\n"
    until(worker.is_clean, "nothing is left at the worker")
    until(lambda: not podman.containers(), "no container is left")
