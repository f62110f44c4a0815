"""The points of a series follow the ancestry of their commits, whatever the dates say and whenever they were measured."""

from functools import partial

from support.git import git

git_in_one_second = partial(git, date_s=1_700_000_000)


def test_commits_of_one_second_measured_out_of_order_stand_in_their_order(anubis):
    """A rebase gives every commit the date of the rebase."""
    metric = '[[output.metrics]]\nname = "figure"\nunits = "s"\npattern = "figure=([0-9.]+)"'
    anubis.write("bench.toml", "sh bench.sh", more=f'{metric}\n[subject]\ncommit = "auto"')
    git_in_one_second(anubis.folder, "init", "-q")
    commits = []
    for number in range(5):
        (anubis.folder / "bench.sh").write_text(f"echo figure={number + 1}")
        git_in_one_second(anubis.folder, "add", ".")
        git_in_one_second(anubis.folder, "commit", "-qm", str(number))
        commits.append(git_in_one_second(anubis.folder, "rev-parse", "HEAD"))
    for number in (3, 0, 4, 2, 1):
        git_in_one_second(anubis.folder, "checkout", "-q", commits[number])
        assert anubis("run", "bench.toml").returncode == 0
    shown = anubis.json("series", "show", "bench", "--metric", "figure")
    assert [point["value"] for point in shown["points"]] == [1, 2, 3, 4, 5]
    assert [point["subject"] for point in shown["points"]] == commits
