"""Values of ``--set`` are kept with the run, and shown wherever its values are."""

SIZE = '[[output.metrics]]\nname = "size"\nunits = "s"\npattern = "size=(\\\\S+)"\n'


def test_overrides_are_shown_with_the_run_and_its_values(anubis):
    file = anubis.write("hello.toml", "sh -c 'echo size=$SIZE'", more='[env.vars]\nSIZE = "1"\n' + SIZE)
    assert anubis("run", file, "--set", "env.vars.SIZE=64", "--set", "measure.repeats=2").returncode == 0
    line = "env.vars.SIZE=64, measure.repeats=2"
    assert f"overrides: {line}" in anubis("results", "@last").stdout.splitlines()
    for verb in ("show", "status"):
        (shown,) = [
            each for each in anubis(verb, "@last").stdout.splitlines() if each.startswith("overrides")
        ]
        assert shown.split(maxsplit=1) == ["overrides", line]
    for verb in ("show", "status", "results"):
        assert anubis.json(verb, "@last")["overrides"] == {"env.vars.SIZE": "64", "measure.repeats": "2"}
    assert anubis.json("history")[0]["overrides"] == {"env.vars.SIZE": "64", "measure.repeats": "2"}

    anubis("run", file)
    assert "\noverrides" not in anubis("results", "@last").stdout
    assert "\noverrides" not in anubis("show", "@last").stdout


def test_a_comparison_names_the_overrides_of_its_sides(anubis):
    file = anubis.write("hello.toml", "echo size=1", more=SIZE)
    for repeats in (2, 2, 3):
        anubis("run", file, "--set", f"measure.repeats={repeats}")
    same = anubis("compare", "@last~2", "@last~1").stdout.splitlines()
    assert same[-1] == "overrides: measure.repeats=2"
    different = anubis("compare", "@last~1", "@last").stdout.splitlines()
    assert different[-2:] == [
        "overrides of the baseline: measure.repeats=2",
        "overrides of the contender: measure.repeats=3",
    ]
    (one,) = anubis.json("compare", "@last~1", "@last", code=4)
    assert one["overrides"] == {
        "baseline": [{"measure.repeats": "2"}],
        "contender": [{"measure.repeats": "3"}],
    }
    anubis("run", file)
    assert "overrides of the contender: none" in anubis("compare", "@last~1", "@last").stdout
    mixed = anubis("compare", "@last~3,@last", "@last~1").stdout.splitlines()
    assert mixed[-3:] == [
        "overrides of the baseline: measure.repeats=2 (1 run)",
        "overrides of the baseline: none (1 run)",
        "overrides of the contender: measure.repeats=3",
    ]
