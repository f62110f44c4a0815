"""The figures of ``anubis results`` and ``anubis run`` are those of the measured executions."""

EMITTED = """
[measure]
warmups = 2
repeats = 3
[[output.metrics]]
name = "loss"
units = "s"
pattern = 'loss=(\\S+)'
better = "lower"
summary = "min"
"""
#: Warm-ups print huge values; every execution prints two values and a value that is not a number.
SCRIPT = """
if [ "$ANUBIS_REPEAT" -lt 0 ]; then echo loss=900; else echo loss=0.5; echo loss=0.7; echo loss=nan; fi
"""


def test_warm_ups_do_not_count_and_dropped_values_are_mentioned(anubis):
    (anubis.folder / "loss.sh").write_text(SCRIPT)
    ended = anubis("run", anubis.write("loss.toml", "sh loss.sh", more=EMITTED))
    sentence = "note: 3 values of loss not recorded: 3 not finite; the first: 'nan'"
    assert ended.returncode == 0
    assert sentence in ended.stdout
    shown = anubis("results").stdout
    assert sentence in shown
    (row,) = [line.split() for line in shown.splitlines() if line.startswith("loss ")]
    assert row == ["loss", "500", "ms", "0.0", "%", "3", "6", "500", "700"]
    found = anubis.json("results")
    (summary,) = [each for each in found["samples"] if each["metric"] == "loss"]
    assert (summary["count"], summary["min"], summary["max"]) == (6, 0.5, 0.7)
    (remark,) = found["remarks"]
    assert (remark["kind"], remark["metric"], remark["count"]) == ("rejected", "loss", 3)
    samples = anubis.json("results", "--samples", "loss")
    assert sorted(each["value"] for each in samples) == [0.5] * 3 + [0.7] * 3 + [900.0] * 2


def test_table_and_verdict_have_one_unit(anubis):
    metric = "[[output.metrics]]\nname = 'time'\nunits = 's'\npattern = 'time=(\\S+)'\nbetter = 'lower'\n"
    files = [
        anubis.write(f"{name}.toml", f"sh -c 'echo time={value}'", more=metric)
        for name, value in (("old", 0.0009), ("new", 0.0012))
    ]
    shown = anubis("run", *files, "--rounds", "3").stdout
    assert "time [ms]" in shown
    assert "time  0.9000 -> 1.200 ms  +33.3 %" in shown
