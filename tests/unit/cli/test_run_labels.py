import pytest

from anubis.cli.views.run_labels import labels_of
from anubis.testing import a_run


def labels(*cells):
    runs = [a_run(cell=cell) for cell in cells]
    return list(labels_of(runs).values())


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ([{}], [""]),
        ([{"round": 0}, {"round": 1}], ["round 1 of 2", "round 2 of 2"]),
        ([{"file": "old.toml"}, {"file": "new.toml"}], ["baseline", "contender"]),
        (
            [
                {"file": "a", "round": 0},
                {"file": "b", "round": 0},
                {"file": "b", "round": 1},
                {"file": "a", "round": 1},
            ],
            [
                "baseline, round 1 of 2",
                "contender, round 1 of 2",
                "contender, round 2 of 2",
                "baseline, round 2 of 2",
            ],
        ),
        ([{"file": name} for name in "abc"], ["a", "b", "c"]),
        ([{"env.vars.SIZE": "1"}, {"env.vars.SIZE": "2"}], ["env.vars.SIZE=1", "env.vars.SIZE=2"]),
    ],
)
def test_a_run_is_named_by_what_distinguishes_it(cells, expected):
    assert labels(*cells) == expected
