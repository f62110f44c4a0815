"""One metric in two units is converted, or refused with one error; its values are never mixed."""

import pytest

from support.gated import client_of, stored

DECLARED = '[[output.metrics]]\nname = "latency"\nunits = "ms"\nsummary = "max"\n'


def bench(anubis, *emitted, more=""):
    """A descriptor whose benchmark emits these (value, unit) of ``latency``."""
    lines = [
        f'emit({{"latency": {value}}}' + (f', units={{"latency": "{unit}"}})' if unit else ")")
        for value, unit in emitted
    ]
    (anubis.folder / "bench.py").write_text("\n".join(["from benchmarkai import emit", *lines]))
    return anubis.write("bench.toml", "python bench.py", more=more)


def test_values_of_one_run_are_in_the_unit_of_the_first(anubis):
    assert anubis("run", bench(anubis, (1, "s"), (2, "ms"))).returncode == 0
    [row] = stored(anubis.home)
    assert row.values["latency"] == (0.002, "s")
    with client_of(anubis.home) as client:
        samples = client.results.samples(row.id, "latency")
    assert (list(samples.values), samples.units) == ([1.0, 0.002], "s")


def test_values_are_in_the_declared_unit(anubis):
    assert anubis("run", bench(anubis, (1, "s"), (2, "ms"), more=DECLARED)).returncode == 0
    [row] = stored(anubis.home)
    assert row.values["latency"] == (1000.0, "ms")


@pytest.mark.parametrize(
    ("more", "value"), [("", (0.004, "s")), (DECLARED.replace("max", "last"), (4.0, "ms"))]
)
def test_a_value_without_a_unit_is_in_that_of_the_others(anubis, more, value):
    assert anubis("run", bench(anubis, (3, ""), (1, "s"), (4, "ms"), more=more)).returncode == 0
    [row] = stored(anubis.home)
    assert row.values["latency"] == value
    assert anubis("run", bench(anubis, (5, ""), more=more)).returncode == 0
    assert stored(anubis.home)[1].values["latency"] == (5.0, "ms" if more else "none")


@pytest.mark.parametrize("more", ["", DECLARED])
def test_units_that_cannot_be_converted_fail_the_run(anubis, more):
    ended = anubis("run", bench(anubis, (1, "ms"), (2, "MB"), more=more))
    assert ended.returncode == 1
    [row] = stored(anubis.home)
    assert (row.status, row.cause, row.values) == ("failed", "metric_units", {})
    assert 'metric "latency" has values in "ms" and in "MB", which cannot be converted' in row.reason
    assert "units of one quantity" in ended.stdout


def test_runs_in_two_units_are_compared_in_one(anubis):
    for figures in [(1, "s")] * 3 + [(1000, "ms")] * 3:
        assert anubis("run", bench(anubis, figures)).returncode == 0
    ids = [row.id for row in stored(anubis.home)]
    for words in (("compare", ids[0], ids[3]), ("check", ids[3], "--baseline", ids[0])):
        ended = anubis(*words)
        assert "latency" in ended.stdout, ended
        assert "99.9" not in ended.stdout
        assert "100000" not in ended.stdout
    assert anubis("run", bench(anubis, (7, "MB"))).returncode == 0
    ended = anubis("compare", ids[0], "@last")
    assert (ended.returncode, "cannot be converted" in ended.stderr) == (2, True), ended


def test_an_imported_run_is_in_one_unit(anubis):
    head = "benchmark,metric,value,units,time_s,run\n"
    (anubis.folder / "good.csv").write_text(head + "b,time,1,s,1700000000,x\nb,time,2,ms,1700000000,x\n")
    (anubis.folder / "bad.csv").write_text(head + "b,time,1,s,1700000000,y\nb,time,2,MB,1700000000,y\n")
    assert anubis("import", "good.csv").returncode == 0
    [row] = stored(anubis.home)
    assert row.values["time"] == (0.501, "s")
    refused = anubis("import", "bad.csv")
    assert (refused.returncode, "cannot be converted" in refused.stderr) == (2, True), refused
    assert len(stored(anubis.home)) == 1
