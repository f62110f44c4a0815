"""Every client of one home folder: embedded, and of a service. Tests of a module share the home folder."""

import itertools

import pytest

from anubis.client import Client
from anubis.settings import Settings
from support.service import Service

_names = itertools.count()


@pytest.fixture(scope="module", params=["embedded", "remote"])
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def settings(tmp_path_factory):
    """Of the home folder in which the runs are stored."""
    home = tmp_path_factory.mktemp("clients") / "home"
    return Settings.from_env({"ANUBIS_HOME": str(home), "ANUBIS_CLIENT_ID": "me"})


@pytest.fixture(scope="module")
def hook_secret():
    """A secret of the installation, in the environment of its processes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ANUBIS_SECRET_hook", "0123456789abcdef-secret")
        yield


@pytest.fixture(scope="module")
def client(kind, settings, hook_secret):
    if kind == "embedded":
        with pytest.MonkeyPatch.context() as patch, Client.embedded(settings) as opened:
            patch.setattr("anubis.pipeline.worker.start", lambda home: False)  # this process drives the runs
            yield opened
        return
    service = Service(settings.home).start()
    try:
        with service.client() as opened:
            yield opened
    finally:
        service.stop()


@pytest.fixture
def embedded(settings):
    """A client that uses the home folder itself, to compare answers."""
    with Client.embedded(settings) as opened:
        yield opened


@pytest.fixture
def bench(tmp_path):
    """Writes a descriptor of a benchmark with a new name."""

    def write(command="echo score=1.5", more="", info=""):
        name = f"bench-{next(_names)}"
        path = tmp_path / f"{name}.toml"
        path.write_text(
            f"""spec_version = "1.0"
[info]
name = "{name}"
{info}
[hardware]
instance_type = "local"
[ml]
benchmark_code = '''{command}'''
[[output.metrics]]
name = "score"
units = "1/s"
pattern = 'score=(\\S+)'
{more}
"""
        )
        return path

    return write
