"""What a benchmark gets of its submitter's environment, what is recorded of it, and what stays secret."""

import json
import os

import pytest

from support.gated import Gated
from support.processes import until

SECRET = "correct-horse/battery staple"
PRINT = "python3 -c 'import json, os; print(json.dumps(dict(os.environ)))'"


@pytest.fixture
def bench(anubis):
    bench = Gated(anubis)
    yield bench
    bench.close()


@pytest.fixture
def shell(anubis):
    """Changes the environment of the following commands; None removes a variable."""

    def change(**variables):
        before = anubis.environment()
        after = {name: value for name, value in {**before, **variables}.items() if value is not None}
        anubis.environment = lambda: after

    return change


def printed(anubis, ref="@last"):
    """The environment that a run printed."""
    return json.loads(anubis("logs", "--stdout", ref).stdout)


def handed_over(anubis):
    return sorted(path.name for path in (anubis.home / "environments").glob("*"))


def test_a_run_has_the_environment_of_its_submitter(anubis, bench, shell):
    """The worker was started by another shell, with other variables."""
    shell(MARK="worker", ONLY_WORKER="1", OMP_NUM_THREADS="7")
    anubis("submit", bench.file)
    bench.wait_started()
    shell(MARK="submitter", ONLY_WORKER=None, OMP_NUM_THREADS="3")
    run_id = anubis("submit", anubis.write("env.toml", PRINT)).stdout.strip()
    (file,) = handed_over(anubis)
    assert file == f"{run_id}.json"
    assert (anubis.home / "environments" / file).stat().st_mode & 0o777 == 0o600
    bench.open_gate()
    assert anubis("watch", run_id).returncode == 0
    variables = printed(anubis, run_id)
    assert (variables["MARK"], variables["OMP_NUM_THREADS"]) == ("submitter", "3")
    assert "ONLY_WORKER" not in variables
    assert handed_over(anubis) == []


def test_a_cancelled_run_leaves_no_environment(anubis, bench):
    first, second = anubis("submit", bench.file, bench.file).stdout.split()
    bench.wait_started()
    anubis("cancel", second)
    assert anubis("watch", second).returncode == 5
    assert handed_over(anubis) == []
    anubis("cancel", first)
    anubis("watch", first)


def test_garbage_collection_removes_environments_without_a_run(anubis):
    anubis("run", anubis.write("quick.toml", "true"))
    folder = anubis.home / "environments"
    run_id = anubis.json("status")["id"]
    for name in (f"{run_id}.json", "01a1f8c6-b1d7-7044-869e-0a4f3b82ce49.json", ".part"):
        (folder / name).write_text("{}")
        os.utime(folder / name, (1, 1))
    found = anubis.json("gc")["found"]
    assert {each["kind"] for each in found} == {"environment"}
    assert handed_over(anubis) == []


def test_secrets_and_settings_are_not_inherited(anubis, shell):
    shell(
        GITHUB_TOKEN="ghp-operator",
        GITLAB_TOKEN="glpat-operator",
        ANUBIS_DATABASE_URL=f"sqlite:///{anubis.home}/anubis.db",
        ANUBIS_WEBHOOK_SECRET="whsec-operator",
        aws_secret_access_key="lower-case",
        PLAIN="1",
    )
    assert anubis("run", anubis.write("env.toml", PRINT)).returncode == 0
    variables = printed(anubis)
    assert variables["PLAIN"] == "1"
    assert (
        not {
            "GITHUB_TOKEN",
            "GITLAB_TOKEN",
            "ANUBIS_HOME",
            "ANUBIS_DATABASE_URL",
            "ANUBIS_WEBHOOK_SECRET",
            "aws_secret_access_key",
        }
        & variables.keys()
    )
    assert "operator" not in json.dumps(variables)


def test_a_descriptor_names_what_it_inherits_nevertheless(anubis, shell):
    """The value reaches the benchmark and is masked in the record."""
    shell(GITHUB_TOKEN="ghp-0123456789", HF_TOKEN="hf-not-named")
    code = 'import os; print(len(os.environ["GITHUB_TOKEN"]), os.environ["GITHUB_TOKEN"], "HF_TOKEN" in os.environ)'
    file = anubis.write("env.toml", f"python3 -c '{code}'", more='[env]\ninherit = ["GITHUB_TOKEN"]')
    assert anubis("run", file).returncode == 0
    assert anubis("logs").stdout == "14 *** False\n"


def test_a_named_variable_that_is_not_set_or_cannot_be_masked_is_a_warning(anubis, shell):
    shell(SHORT_TOKEN="1234567", LONG_TOKEN="12345678")
    more = '[env]\ninherit = ["UNSET_TOKEN", "SHORT_TOKEN", "LONG_TOKEN"]'
    ended = anubis("run", anubis.write("env.toml", "true", more=more), "--rounds", "2")
    assert ended.returncode == 0
    assert ended.stderr.count("UNSET_TOKEN is not set here") == 1
    assert ended.stderr.count("SHORT_TOKEN has fewer than 8 bytes and is not masked") == 1
    assert "LONG_TOKEN" not in ended.stderr


def test_an_operator_restricts_what_is_inherited(anubis, shell):
    shell(ANUBIS_INHERIT="PATH, LC_*", LC_ALL="C.UTF-8", OTHER="1", HF_TOKEN="hf-0123456789")
    assert anubis("run", anubis.write("env.toml", PRINT)).returncode == 0
    variables = printed(anubis)
    assert variables["LC_ALL"] == "C.UTF-8"
    assert not {"OTHER", "HOME"} & variables.keys()
    refused = anubis(
        "run", anubis.write("asks.toml", "true", more='[env]\ninherit = ["HF_TOKEN", "OTHER"]'), "--json"
    )
    assert refused.returncode == 2
    problems = json.loads(refused.stderr)["problems"]
    assert [problem["path"] for problem in problems] == ["env.inherit", "env.inherit"]
    assert len(anubis.json("history")) == 1


def test_a_secret_by_reference_is_found_nowhere(anubis, tmp_path):
    """It reaches the benchmark; no file but the operator's contains it."""
    anubis.home.mkdir()
    secrets = anubis.home / "secrets.toml"
    secrets.write_text(f'DEPLOY = "{SECRET}"\n')
    secrets.chmod(0o600)
    code = """
import base64, json, os, subprocess, sys, urllib.parse
secret = os.environ["PASSWORD"]
for number, part in enumerate(("before ", secret[:9], secret[9:], " after\\n")):  # split across reads
    print(part, end="", flush=True)
    print("read", file=sys.stderr, flush=True)
    while os.path.getsize(os.environ["ANUBIS_RECORD"] + "/stderr") < 5 * (number + 1):
        pass
print(base64.b64encode(secret.encode()).decode(), urllib.parse.quote(secret), json.dumps(secret))
with open(os.environ["BENCHMARK_AI_FIFO_FILEPATH"], "w") as fifo:
    fifo.write(json.dumps({"rate": 1, "label": secret}) + "\\n")
subprocess.Popen(["sleep", "60", secret], start_new_session=True)
print("length", len(secret))
print(secret, end="")
"""
    (anubis.folder / "work.py").write_text(code)
    file = anubis.write(
        "secret.toml",
        "python3 work.py",
        more='[env.vars]\nPASSWORD = "secret:DEPLOY"\n'
        '[[output.metrics]]\nname = "length"\nunits = "1"\npattern = \'length (\\d+)\'\n',
    )
    ended = anubis("run", file, "--json")
    assert ended.returncode == 0, ended.stderr
    assert f"length {len(SECRET)}\n" in anubis("logs").stdout
    assert anubis("logs", "--stdout").stdout.startswith('before *** after\n*** *** "***"\n')
    assert anubis("record", "export", "-o", tmp_path / "run.tar.zst").returncode == 0
    for path in [*anubis.home.rglob("*"), tmp_path / "run.tar.zst"]:
        if path.is_file() and path != secrets:
            assert SECRET.encode() not in path.read_bytes(), path
            assert b"Y29ycmVjdC1ob3Jz" not in path.read_bytes(), path
    recorded = anubis.json("show")["environment"]
    assert "PASSWORD" in recorded["secrets"]


@pytest.mark.parametrize(
    ("content", "mode", "message"),
    [
        ("", 0o600, "there is no secret DEPLOY"),
        ('DEPLOY = "0123456789"', 0o640, "only its owner"),
        ('DEPLOY = "short"', 0o600, "cannot be masked"),
        ("DEPLOY = 12345678", 0o600, "is not text"),
        ("DEPLOY = 0123456789 = x", 0o600, "is not valid TOML"),
    ],
)
def test_a_secret_that_cannot_be_used_is_refused_before_anything_is_stored(anubis, content, mode, message):
    anubis.home.mkdir()
    (anubis.home / "secrets.toml").write_text(content)
    (anubis.home / "secrets.toml").chmod(mode)
    file = anubis.write("secret.toml", "true", more='[env.vars]\nPASSWORD = "secret:DEPLOY"')
    refused = anubis("submit", file)
    assert refused.returncode == 2
    assert "env.vars.PASSWORD" in refused.stderr
    assert message in refused.stderr
    assert "0123456789" not in refused.stderr
    assert anubis.json("history") == []
    assert handed_over(anubis) == []


def test_a_secret_is_not_written_into_a_command_line(anubis):
    file = anubis.write(
        "secret.toml",
        "python3 work.py --password ${PASSWORD} $(HF_TOKEN)",
        more='[env]\ninherit = ["HF_TOKEN"]\n[env.vars]\nPASSWORD = "secret:DEPLOY"\nOTHER = "secret:not a name"',
    )
    refused = anubis("validate", file)
    assert refused.returncode == 2
    assert refused.stderr.count("command line") == 2
    assert "env.vars.OTHER" in refused.stderr


def test_compare_mentions_what_differs(anubis, shell):
    quick = anubis.write("quick.toml", "true")
    shell(OMP_NUM_THREADS="1", COLOUR="red", SAME="1", MY_TOKEN="a")
    anubis("run", quick)
    shell(OMP_NUM_THREADS="2", COLOUR="blue", MY_TOKEN="b")
    anubis("run", quick)
    compared = anubis("compare", "@last~1", "@last")
    assert "OMP_NUM_THREADS (1, 2)" in compared.stderr
    assert "COLOUR" in compared.stderr
    assert "SAME" not in compared.stderr
    assert "red" not in compared.stderr
    (comparison,) = json.loads(anubis("compare", "@last~1", "@last", "--json").stdout)
    assert {row["name"]: (row["baseline"], row["contender"]) for row in comparison["environment"]} == {
        "COLOUR": (None, None),
        "OMP_NUM_THREADS": (["1"], ["2"]),
    }


def test_a_run_that_nobody_drives_is_continued_by_the_next_command(anubis, bench):
    process = anubis.start("run", bench.file)
    bench.wait_started()
    process.kill()
    process.communicate()
    bench.open_gate()
    anubis("history")
    until(lambda: bench.rows()[0].status.final, "the run is final")
    (row,) = bench.check_whole()
    assert row.status == "succeeded"
