"""The points of a series follow the ancestry of their commits, whatever the dates say and whenever they were measured."""

import os
import subprocess

ENVIRONMENT = {
    f"GIT_{role}_{what}": value
    for role in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "t"), ("EMAIL", "t"), ("DATE", "@1700000000 +0000"))
}


def git(folder, *words):
    return subprocess.run(
        ["git", *words],
        cwd=folder,
        env={**os.environ, **ENVIRONMENT},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()


def test_commits_of_one_second_measured_out_of_order_stand_in_their_order(anubis):
    """A rebase gives every commit the date of the rebase."""
    metric = '[[output.metrics]]\nname = "figure"\nunits = "s"\npattern = "figure=([0-9.]+)"'
    anubis.write("bench.toml", "sh bench.sh", more=f'{metric}\n[subject]\ncommit = "auto"')
    git(anubis.folder, "init", "-q")
    commits = []
    for number in range(5):
        (anubis.folder / "bench.sh").write_text(f"echo figure={number + 1}")
        git(anubis.folder, "add", ".")
        git(anubis.folder, "commit", "-qm", str(number))
        commits.append(git(anubis.folder, "rev-parse", "HEAD"))
    for number in (3, 0, 4, 2, 1):
        git(anubis.folder, "checkout", "-q", commits[number])
        assert anubis("run", "bench.toml").returncode == 0
    shown = anubis.json("series", "show", "bench", "--metric", "figure")
    assert [point["value"] for point in shown["points"]] == [1, 2, 3, 4, 5]
    assert [point["subject"] for point in shown["points"]] == commits
