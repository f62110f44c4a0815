"""Stages fetch and place: a run gets exactly the datasets that were fetched for it."""

import json
from dataclasses import replace

import pytest

from anubis.contracts.datasets import Dataset, DatasetFile, FetchProgress
from anubis.contracts.engine import Mounting
from anubis.model.descriptor import Data
from anubis.model.hardware import Hardware, Strategy
from anubis.model.launch import Mount
from anubis.model.server import DataSource
from anubis.model.status import Status
from anubis.pipeline.run_data import data_of
from anubis.pipeline.stage_call import ask
from anubis.pipeline.stages.watch import Pause
from anubis.testing import a_descriptor, a_run
from support.servers import SERVER

DIGEST = f"sha256:{'ab' * 32}"
FETCHED = Dataset(digest=DIGEST, files=(DatasetFile(path="", sha256="ab" * 32, size_bytes=3 << 20),))


class Answers:
    """A cache that gives the answer of a test."""

    def __init__(self, answer):
        self.answer = answer
        self.here = True
        self.asked = []

    def fetch(self, source, *, writable):
        self.asked.append((source.src, writable))
        return self.answer

    def folder(self, digest, *, writable):
        return f"/trees/{digest}" if self.here else None


@pytest.fixture
def datasets():
    return Answers(FETCHED)


@pytest.fixture
def world(house, datasets):
    return replace(house.world, datasets=datasets)


def with_data(house, *, server=None, **changes):
    source = DataSource(src="http://ada:secret@host/train?token=secret", path="/data/train")
    if server:
        changes["hardware"] = Hardware(instance_type="local", strategy=Strategy.INFERENCE)
    run = a_run(a_descriptor(data=Data(sources=(source,)), server=server, **changes))
    house.runs.add([(run, "text")], [])
    return run


def answer(run, world):
    (one,) = ask(run, world, 0.0).values()
    return one


def test_progress_is_the_reason_and_is_stored_only_when_it_changes(house, world, datasets):
    datasets.answer = FetchProgress(done_bytes=1 << 20, size_bytes=4 << 20)
    run = with_data(house)
    step = answer(run, world)
    assert (step.status, step.reason) == (Status.FETCH, "fetching data, 25 % of 4 MiB")
    assert isinstance(answer(replace(run, reason=step.reason), world), Pause)


def test_a_run_is_placed_with_the_data_that_were_fetched_for_it(house, world):
    run = with_data(house)
    step = answer(run, world)
    assert step.status is Status.PLACE
    house.events.append(step.events)
    data = data_of(run, world)
    assert data.datasets == (Mount(target="/data/train", source=f"/trees/{DIGEST}"),)
    assert [row["digest"] for row in data.rows] == [DIGEST]
    assert "secret" not in json.dumps(data.rows) + step.events[0].message


def test_data_that_are_gone_are_fetched_again(house, world, datasets):
    run = with_data(house)
    house.events.append(answer(run, world).events)
    datasets.here = False
    assert answer(replace(run, status=Status.PLACE), world).status is Status.FETCH
    assert answer(replace(a_run(run.descriptor), status=Status.PLACE), world).status is Status.FETCH


def test_the_server_has_its_models_and_the_benchmark_its_data(house, world):
    model = DataSource(src="http://host/model", path="/models/m")
    run = with_data(house, server=replace(SERVER, models=(model,)))
    house.events.append(answer(run, world).events)
    data = data_of(run, world)
    assert [mount.target for mount in data.mounts("server")] == ["/models/m"]
    assert [mount.target for mount in data.mounts("benchmark")] == ["/data/train"]


@pytest.mark.parametrize(("inside", "writable"), [(None, True), ("/anubis", False)])
def test_containers_cannot_write_to_their_data(house, world, datasets, inside, writable):
    can = house.engine.capabilities
    mounting = Mounting(agent=("agent",), records="/r", scripts="/s", inside=inside)
    house.engine.capabilities = replace(can, mounting=mounting)
    answer(with_data(house), world)
    assert [writable for _, writable in datasets.asked] == [writable]
