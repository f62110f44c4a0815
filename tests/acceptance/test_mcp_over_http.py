"""Assistants of a service: the client of the official SDK over real HTTP, with two services of one installation."""

import asyncio
import json
import os
import time
from contextlib import contextmanager

import pytest

from support.access import Identities, ask
from support.processes import until
from support.service import Service

mcp = pytest.importorskip("mcp")
streamable = pytest.importorskip("mcp.client.streamable_http")

TEXT = """spec_version = "1.0"
[info]
name = "hello"
[hardware]
instance_type = "local"
[ml]
benchmark_code = "echo score=1.5"
"""


def conversation(url, talk, token=None):
    """What ``talk`` returns; it gets a function that calls a tool and returns its JSON, or its error as a text."""

    async def held():
        headers = {"Authorization": f"Bearer {token}"} if token else None
        async with streamable.create_mcp_http_client(headers=headers) as http:
            transport = streamable.streamable_http_client(f"{url}/mcp", http_client=http)
            async with mcp.Client(transport) as client:

                async def call(name, **arguments):
                    answer = await client.call_tool(name, arguments)
                    text = answer.content[0].text
                    return text if answer.is_error else json.loads(text)

                call.client = client
                return await talk(call)

    return asyncio.run(held())


def once(url, tool, user=None, **arguments):
    """The answer of one tool in a separate conversation."""

    async def talk(call):
        return await call(tool, **arguments)

    return conversation(url, talk, user)


@pytest.fixture
def services(tmp_path):
    """Two services with one home folder."""
    home = tmp_path / "served"
    started = [Service(home, name=f"service-{number}") for number in range(2)]
    try:
        yield [each.start() for each in started]
    finally:
        for each in started:
            each.stop()


def test_a_submission_is_confirmed_at_another_service(services, tmp_path):
    first, second = services

    async def talk(call):
        tools = {tool.name for tool in (await call.client.list_tools()).tools}
        return tools, await call("describe_submission", descriptor=TEXT, folder=str(tmp_path))

    tools, described = conversation(first.url, talk)
    assert {"list_runs", "describe_submission", "submit"} <= tools
    assert described["benchmark"] == "hello"
    assert once(second.url, "list_runs") == {"runs": []}, "a description submits nothing"
    first.kill()
    (run,) = once(second.url, "submit", token=described["token"])["runs"]
    first.start()
    assert "the token is not valid" in once(first.url, "submit", token=described["token"])
    until(lambda: once(first.url, "show_run", run=run["id"])["status"] == "succeeded", "the run is measured")
    assert [row["id"] for row in once(second.url, "list_runs")["runs"]] == [run["id"]]


def test_a_token_is_used_once_by_requests_at_the_same_time(services, tmp_path):
    described = once(services[0].url, "describe_submission", descriptor=TEXT, folder=str(tmp_path))

    async def both():
        sent = [
            asyncio.to_thread(once, service.url, "submit", token=described["token"])
            for service in services * 2
        ]
        return await asyncio.gather(*sent)

    answers = asyncio.run(both())
    assert sorted(isinstance(each, str) for each in answers) == [False, True, True, True]
    assert len(once(services[1].url, "list_runs")["runs"]) == 1


def test_files_of_the_service_cannot_be_read_by_a_descriptor(services, tmp_path):
    (tmp_path / "secret.toml").write_text("password = 'x'")
    refused = once(
        services[0].url,
        "describe_submission",
        descriptor=f'extends = "{tmp_path}/secret.toml"\n{TEXT}',
        folder=str(tmp_path),
    )
    assert "cannot extend files" in refused
    assert "password" not in refused


def test_an_old_description_cannot_be_confirmed_and_is_deleted(services, tmp_path):
    described = once(services[0].url, "describe_submission", descriptor=TEXT, folder=str(tmp_path))
    (file,) = (services[0].home / "descriptions").iterdir()
    assert described["token"] not in file.name + file.read_text()
    plain = json.loads(file.read_text())
    file.write_text(json.dumps({**plain, "until_s": time.time() - 1}))
    os.utime(file, (0, time.time() - 1))
    assert "older than 10 minutes" in once(services[1].url, "submit", token=described["token"])
    once(services[1].url, "describe_submission", descriptor=TEXT, folder=str(tmp_path))
    assert not file.exists()


@contextmanager
def users(service):
    """Tokens of a viewer and of a submitter of two projects."""
    identities = Identities(service.home)
    tokens = {}
    for project in ("one", "two"):
        identities.project(project)
        for role in ("viewer", "submitter"):
            identities.user(f"{role}-{project}", project, role)
            tokens[f"{role}-{project}"], _ = identities.token(f"{role}-{project}")
    until(lambda: ask(service.url, "GET", "/api/v1/runs")[0] == 401, "the service asks for tokens")
    yield tokens


def test_tools_have_the_rights_of_the_token(services, tmp_path):
    first, second = services
    with users(first) as tokens:
        until(lambda: ask(second.url, "GET", "/api/v1/runs")[0] == 401, "both ask for tokens")
        assert ask(first.url, "POST", "/mcp", {})[0] == 401
        given = {"descriptor": TEXT, "folder": str(tmp_path)}
        described = once(first.url, "describe_submission", tokens["viewer-one"], **given)
        refused = once(first.url, "submit", tokens["viewer-one"], token=described["token"])
        assert "does not give the permission 'submit'" in refused
        described = once(first.url, "describe_submission", tokens["submitter-one"], **given)
        stolen = once(second.url, "submit", tokens["submitter-two"], token=described["token"])
        assert "another user" in stolen
        (run,) = once(second.url, "submit", tokens["submitter-one"], token=described["token"])["runs"]
        assert run["project"] == "one"
        assert len(once(second.url, "list_runs", tokens["viewer-one"])["runs"]) == 1
        assert once(second.url, "list_runs", tokens["viewer-two"]) == {"runs": []}
        assert "no run has the id" in once(second.url, "show_run", tokens["viewer-two"], run=run["id"])
        decisions = Identities(first.home).change(lambda access: access.decisions(limit=1000))
        noted = {(each.actor, each.action, each.allowed) for each in decisions}
        assert ("submitter-one", "POST /mcp as POST /runs", True) in noted
        assert ("viewer-one", "POST /mcp as POST /runs", False) in noted
