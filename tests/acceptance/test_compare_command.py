"""``anubis compare``: runs that were measured in rounds, and runs of different benchmarks."""

from support.noisy import COUNT, LATENCY

#: Both runs of a round share a state of the machine, which differs by 10 % between rounds.
SCRIPT = f"""\
{COUNT}awk -v n="$n" -v level="$1" 'BEGIN {{
    state = 1 + 0.1 * sin(5 * int(n / 2))
    print "latency=" level * state * (1 + 0.002 * sin(7.3 * n))
}}'
"""


def test_runs_of_rounds_are_compared_within_their_rounds(anubis):
    (anubis.folder / "bench.sh").write_text(SCRIPT)
    files = [
        anubis.write(f"{name}.toml", f"sh bench.sh {level}", more=LATENCY)
        for name, level in (("a", 100), ("b", 104))
    ]
    first = anubis.json("run", *files, "--rounds", 6, code=0)
    (answer,) = anubis.json("compare", code=3)

    (verdict,) = answer["verdicts"]
    assert verdict["estimator"] == "alternated pairs"
    assert verdict["judgement"] == "regressed"
    assert verdict["interval"][1] - verdict["interval"][0] < 0.02
    assert answer["benchmarks"] is None, "they were submitted to be compared"
    (shown,) = first["comparisons"]
    assert shown["verdicts"] == answer["verdicts"]

    ids = {name: [run["id"] for run in first["runs"] if run["name"] == name] for name in ("a", "b")}
    (named,) = anubis.json("compare", ",".join(ids["a"]), ",".join(ids["b"]), code=3)
    assert named["verdicts"] == answer["verdicts"]


def test_runs_of_different_benchmarks_are_compared_with_a_warning(anubis):
    ids = {}
    for name in ("train", "serve"):
        file = anubis.write(f"{name}.toml", "sh -c 'echo latency=10'", more=LATENCY)
        ids[name] = [anubis.json("run", file)["runs"][0]["id"] for _ in range(2)]

    ended = anubis("compare", ids["train"][0], ids["serve"][0])
    assert "warning: the runs are of different benchmarks: train and serve" in ended.stderr
    (answer,) = anubis.json("compare", ids["train"][0], ids["serve"][0], code=4)
    assert answer["benchmarks"] == {"baseline": ["train"], "contender": ["serve"]}
    assert "different benchmarks" not in anubis("compare", *ids["train"]).stderr
