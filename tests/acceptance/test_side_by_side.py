"""Both sides of a comparison are treated alike: order, layout of memory, paths; and a control shows whether that suffices."""

import pytest

#: The second run of a round is 20 % slower, whichever side it belongs to; 1 % of noise.
SLOTS = """\
n=$(cat count 2>/dev/null || echo 0)
echo $((n + 1)) >count
awk -v n="$n" 'BEGIN { print "latency=" 100 * (1 + 0.2 * (n % 2)) * (1 + 0.01 * sin(7.3 * n)) }'
"""
LATENCY = """
[[output.metrics]]
name = "latency"
units = "ms"
pattern = 'latency=(\\S+)'
better = "lower"
"""


@pytest.fixture
def slots(anubis):
    """The files of two sides that are equal, except that the second run of each round is slower."""
    (anubis.folder / "slots.sh").write_text(SLOTS)
    return [anubis.write(name, "sh slots.sh", more=LATENCY) for name in ("old.toml", "new.toml")]


def test_the_effect_of_the_order_is_shown_and_is_part_of_neither_effect_nor_noise(anubis, slots):
    old, new = slots
    report = anubis.json("check", new, "--baseline", old, "--rounds", 6)
    (verdict,) = [one for one in report["weighings"][0]["verdicts"] if one["metric"] == "latency"]
    assert verdict["slot_effect"] == pytest.approx(0.2, abs=0.03)
    assert verdict["noise_floor"] < 0.05
    assert "The second run of a round is" in verdict["next_step"]


def test_runs_of_two_files_are_compared_within_their_rounds(anubis, slots):
    shown = anubis("run", *slots, "--rounds", 6)
    assert shown.returncode == 0, shown.stderr
    assert "higher than the first" in shown.stdout
    assert "higher than the first" in anubis("compare").stdout
