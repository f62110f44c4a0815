"""``anubis mcp`` with the client of the official SDK, over standard input and output."""

import asyncio
import json

import pytest

from support.command import BIN
from support.service import Service

mcp = pytest.importorskip("mcp")

TEXT = """spec_version = "1.0"
[info]
name = "hello"
[hardware]
instance_type = "local"
[ml]
benchmark_code = "echo score=1.5"
[[output.metrics]]
name = "score"
units = "1"
pattern = 'score=(\\S+)'
"""


def conversation(anubis, talk):
    """What ``talk`` returns; it gets a function that calls a tool and returns its JSON, or its error as a text."""

    async def held():
        words = {"command": str(BIN / "anubis"), "args": ["mcp"], "env": dict(anubis.environment())}
        async with mcp.Client(mcp.StdioServerParameters(cwd=str(anubis.folder), **words)) as client:

            async def call(name, **arguments):
                answer = await client.call_tool(name, arguments)
                text = answer.content[0].text
                return text if answer.is_error else json.loads(text)

            call.client = client
            return await talk(call)

    return asyncio.run(held())


@pytest.fixture(params=["embedded", "service"])
def where(request, anubis, tmp_path):
    if request.param == "embedded":
        yield request.param
        return
    service = Service(tmp_path / "served").start()
    assert anubis("register", service.url).returncode == 0
    yield request.param
    service.stop()


def test_an_assistant_submits_in_two_steps_and_reads_the_result(anubis, where):
    async def talk(call):
        described = await call("describe_submission", descriptor=TEXT, folder=str(anubis.folder))
        before = await call("list_runs")
        submitted = await call("submit", token=described["token"])
        again = await call("submit", token=described["token"])
        return described, before, submitted, again

    described, before, submitted, again = conversation(anubis, talk)
    assert (described["benchmark"], described["number_of_runs"]) == ("hello", 1)
    assert described["runs"][0]["command"] == "echo score=1.5"
    assert before == {"runs": []}, "a description submits nothing"
    (run,) = submitted["runs"]
    assert "the token is not valid" in again
    assert anubis("watch", run["id"]).returncode == 0

    async def look(call):
        return await call("show_run", run=run["id"]), await call(
            "list_runs", benchmark="hello", status="succeeded"
        )

    shown, listed = conversation(anubis, look)
    assert shown["metrics"]["score"]["value"] == 1.5
    assert [row["id"] for row in listed["runs"]] == [run["id"]]
    assert len(anubis.json("history")) == 1


def test_runs_are_compared_and_verdicts_explained(anubis):
    anubis.write("a.toml", "true")
    assert anubis("run", "a.toml", "--rounds", "4").returncode == 0
    ids = [row["id"] for row in anubis.json("history")]

    async def talk(call):
        compared = await call("compare", baseline=ids[:2], contender=ids[2:], metric="wall_time")
        return (
            compared,
            await call("explain_verdict", benchmark="a"),
            await call("explain_verdict", benchmark="z"),
        )

    compared, explained, unknown = conversation(anubis, talk)
    (verdict,) = compared["verdicts"]
    assert verdict["metric"] == "wall_time"
    assert verdict["text"]
    assert {each["metric"] for each in explained["series"]} >= {"wall_time", "cpu_time"}
    assert "no series matches" in unknown


def test_errors_contain_the_remedy(anubis):
    async def talk(call):
        tools = {tool.name: tool for tool in (await call.client.list_tools()).tools}
        wrong = [
            await call("show_run", run="nope"),
            await call("describe_submission", descriptor=TEXT + "[nonsense]", folder="/"),
            await call("describe_submission", descriptor=TEXT, folder="relative"),
            await call("submit", token="guessed"),
            await call("list_runs", status="done"),
        ]
        return tools, wrong

    tools, wrong = conversation(anubis, talk)
    assert set(tools) == {
        "list_runs", "show_run", "compare", "explain_verdict", "describe_submission", "submit",
    }  # fmt: skip
    assert not tools["submit"].annotations.read_only_hint
    assert all(isinstance(each, str) for each in wrong), wrong
    assert "anubis history" in wrong[0]
    assert "nonsense" in wrong[1]
    assert anubis.json("history") == []
