"""Keeping house: doctor, cancel, purge, record, gc, completion, validate, help, old spellings."""

import json
import re
import subprocess
import tomllib

import pytest

from support.plug_ins import install_broken


@pytest.fixture
def run_id(anubis):
    """A run that has ended well."""
    return anubis.json("run", anubis.write("hello.toml", "sh -c 'echo hello'"))["runs"][0]["id"]


def test_the_version_and_the_help_need_no_home(anubis):
    assert anubis("--version").stdout.startswith("anubis ")
    shown = anubis("--help").stdout
    assert anubis().stdout == shown
    assert "130" in shown, "exit codes are listed"
    assert not anubis.home.exists()


def test_doctor_finds_nothing_wrong_here(anubis):
    checked = anubis.json("doctor")
    states = {check["name"]: check["state"] for check in checked["checks"]}
    assert {states[name] for name in ("python", "home", "disk", "database", "engines")} == {"ok"}


def test_doctor_tells_a_database_that_cannot_be_read(anubis):
    anubis.home.mkdir()
    (anubis.home / "anubis.db").write_bytes(b"this is no database, and long enough to be one" * 100)
    ended = anubis("doctor")
    assert ended.returncode == 1
    assert "fail  database" in ended.stdout
    assert "help: " in ended.stdout


def test_cancel_ends_runs_that_wait(anubis):
    file = anubis.write("long.toml", "sh -c 'sleep 600'")
    ids = [anubis("submit", file).stdout.strip() for _ in range(2)]
    assert set(anubis.json("cancel", "--all")["cancelling"]) == set(ids)
    for run_id in ids:
        assert anubis("watch", run_id).returncode == 5
    again = anubis.json("cancel", *ids)
    assert (again["cancelling"], again["final_already"]) == ([], ids)


def test_a_run_that_goes_on_is_not_purged(anubis):
    anubis("submit", anubis.write("long.toml", "sh -c 'sleep 600'"))
    refused = anubis("purge", "@last", "--yes")
    assert refused.returncode == 2
    assert "anubis cancel" in refused.stderr
    anubis("cancel", "@last")
    assert anubis("watch").returncode == 5


def test_purge_asks_and_forgets(anubis, run_id):
    folder = anubis("record", "path").stdout.strip()
    assert anubis("purge", run_id).returncode == 2, "nobody can be asked here"
    assert anubis("purge", run_id, "--yes").stdout.strip() == run_id
    assert anubis("status", run_id).returncode == 2
    assert subprocess.run(["test", "-e", folder], check=False).returncode == 1


def told(anubis):
    """Everything a home can tell about its last run, but where it lies and how its events are numbered and marked."""
    shown = anubis.json("show")
    shown.pop("record")
    for event in shown["events"]:
        event.pop("seq")
        if event["kind"] == "imported":
            original = event.pop("data")
            prefix = original["kind"]
            event["message"] = event["message"].removeprefix(prefix).removeprefix(": ")
            event |= {"kind": prefix, "data": original.get("data", {}), "actor": original.get("actor", "")}
    return [shown, *(anubis(*words.split()).stdout for words in ("logs -t", "descriptor", "results --json"))]


def test_a_run_moves_to_another_home_completely(anubis, tmp_path):
    metric = "[[output.metrics]]\nname = 'x'\nunits = 'none'\npattern = 'x=(.*)'"
    file = anubis.write("hello.toml", "sh -c 'for x in 1 2 3; do echo x=$x; done'", more=metric)
    run_id = anubis.json("run", file)["runs"][0]["id"]
    exported = anubis("record", "export").stdout.strip()
    before = told(anubis)
    again = anubis("record", "export", "-o", "-", text=False).stdout
    assert (anubis.folder / exported).read_bytes() == again, "the same run gives the same bytes"
    assert anubis("record", "export").returncode == 2, "the file is there already"
    assert anubis("record", "import", exported).returncode == 2, "the run is here already"
    anubis.home = tmp_path / "other"
    assert anubis("record", "import", exported).stdout.strip() == run_id
    assert told(anubis) == before
    assert anubis("record", "import", exported).returncode == 2


def test_a_damaged_archive_is_refused_and_leaves_nothing(anubis, run_id, tmp_path):
    exported = anubis.folder / anubis("record", "export").stdout.strip()
    content = bytearray(exported.read_bytes())
    content[len(content) // 2] ^= 0xFF
    exported.write_bytes(content)
    anubis.home = tmp_path / "other"
    refused = anubis("record", "import", exported)
    assert refused.returncode == 2
    assert "archive" in refused.stderr
    assert anubis.json("history") == []
    assert not (anubis.home / "incoming").exists()
    assert not list(anubis.home.glob("records/*"))


def test_gc_removes_what_nothing_refers_to(anubis, run_id):
    orphan = anubis.home / "records" / run_id.replace(run_id[:4], "ffff")
    orphan.mkdir()
    (orphan / "stdout").write_text("left behind")
    assert str(orphan) not in anubis("gc").stdout, "too young"
    assert str(orphan) in anubis("gc", "--older-than", "0s", "--dry-run").stdout
    assert orphan.exists()
    anubis("gc", "--older-than", "0s")
    assert not orphan.exists()
    assert anubis("logs", run_id).stdout == "hello\n"


def test_gc_packs_old_records_and_nobody_notices(anubis):
    run_id = anubis.json("run", anubis.write("long.toml", "sh -c 'seq 100000'"))["runs"][0]["id"]
    before = anubis("logs", run_id).stdout, anubis.json("show", run_id)
    assert anubis("gc", "--pack").stdout == "nothing to do\n", "too young"
    assert anubis.json("gc", "--pack", "--older-than", "0s", "--dry-run")["size_bytes"] > 500_000
    assert anubis.json("gc", "--pack", "--older-than", "0s")["size_bytes"] > 400_000
    assert [path.name for path in (anubis.home / "records" / run_id).iterdir()] == ["a1.tar.zst"]
    assert (anubis("logs", run_id).stdout, anubis.json("show", run_id)) == before


def test_gc_keeps_scripts_that_a_run_refers_to(anubis):
    (anubis.folder / "code").mkdir()
    (anubis.folder / "code" / "main.sh").write_text("true\n")
    run = anubis.json("run", anubis.write("a.toml", "sh -c true"), "--script", "code")["runs"][0]
    archives = list(anubis.home.glob("objects/*.tar"))
    anubis("gc", "--older-than", "0s")
    assert [path for path in archives if path.exists()] == archives != []
    anubis("purge", run["id"], "--yes")
    anubis("gc", "--older-than", "0s")
    assert not any(path.exists() for path in archives)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_learns_to_complete(anubis, shell):
    script = anubis("completion", shell)
    assert script.returncode == 0
    assert "_ANUBIS_COMPLETE" in script.stdout


def test_the_shell_completes_commands_and_runs(anubis, run_id, monkeypatch):
    def completed(line):
        monkeypatch.setenv("_ANUBIS_COMPLETE", "bash_complete")
        monkeypatch.setenv("COMP_WORDS", line)
        monkeypatch.setenv("COMP_CWORD", str(len(line.split(" ")) - 1))
        return [word.partition(",")[2] for word in anubis().stdout.split()]

    assert completed("anubis hist") == ["history"]
    assert completed("anubis status " + run_id[:4]) == [run_id[:13]]
    assert completed("anubis status @") == ["@last"]


def test_validate_tells_what_a_file_stands_for(anubis):
    sweep = '[matrix]\n"env.vars.SIZE" = ["1", "2", "3"]\n'
    file = anubis.write("sweep.toml", "true", more=sweep)
    assert "sweep, 3 runs" in anubis("validate", file).stdout
    plan = anubis("validate", file, "--plan").stdout
    assert [line.split()[0] for line in plan.splitlines()[2:]] == ["1", "2", "3"]
    (report,) = anubis.json("validate", file, "--plan")
    assert [cell["cell"] for cell in report["runs"]] == [{"env.vars.SIZE": value} for value in "123"]


def test_a_plan_names_the_engine_that_runs_it(anubis, monkeypatch):
    file = anubis.write("plan.toml", "true", more='[env]\ndocker_image = "busybox"')
    assert anubis.json("validate", file, "--plan")[0]["runs"][0]["engine"] == "process"
    monkeypatch.setenv("ANUBIS_ENGINE", "container")
    assert anubis("validate", file, "--plan").stdout.splitlines()[2].split()[0] == "container"
    file.write_text(file.read_text().replace("[hardware]", 'execution_engine = "slurm"\n[hardware]'))
    assert anubis("validate", file, "--plan").stdout.splitlines()[2].split()[0] == "slurm"


def test_validate_says_when_a_schedule_is_next_due(anubis):
    file = anubis.write("nightly.toml", "true")
    file.write_text(file.read_text().replace("[hardware]", 'scheduling = "0 3 * * *"\n[hardware]', 1))
    assert re.search(
        r"valid: .*, next due \d{4}-\d\d-\d\d 03:00 UTC$", anubis("validate", file).stdout.strip()
    )
    (report,) = anubis.json("validate", file)
    assert report["next_due_s"] % 86_400 == 3 * 3600


def test_validate_checks_against_the_engine_that_a_file_names(anubis):
    file = anubis.write("placed.toml", "true")
    text = file.read_text() + '\n[measure]\nisolate = "place"\n'
    file.write_text(text)
    ended = anubis("validate", file)
    assert (ended.returncode, "not available on engine" in ended.stderr) == (0, True)
    file.write_text(text.replace("[hardware]", 'execution_engine = "process"\n[hardware]', 1))
    assert anubis("validate", file).returncode == 2
    assert not anubis.home.exists()


@pytest.fixture
def broken(tmp_path, monkeypatch):
    """A distribution whose engine and notifiers cannot be loaded."""
    install_broken(tmp_path / "site")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))


@pytest.mark.usefixtures("broken")
def test_a_broken_plug_in_breaks_only_itself(anubis):
    file = anubis.write("hello.toml", "true")
    assert anubis("run", file).returncode == 0
    text = file.read_text()
    file.write_text(text.replace("[hardware]", 'execution_engine = "acme"\n[hardware]', 1))
    for command in ("submit", "run"):
        refused = anubis(command, file)
        assert refused.returncode == 2
        assert 'engine "acme" cannot be loaded: ModuleNotFoundError' in refused.stderr
        assert "update or uninstall acme-anubis" in refused.stderr
    file.write_text(text + '[[notify]]\nto = "pigeon:home"\n')
    assert "wings clipped" in anubis("submit", file).stderr
    assert "ModuleNotFoundError" in anubis("export", "--format", "acme").stderr
    assert anubis("export", "--format", "csv").returncode == 0
    assert anubis("history").returncode == 0


@pytest.mark.usefixtures("broken")
def test_doctor_lists_broken_plug_ins_with_their_error(anubis):
    checks = {check["name"]: check for check in anubis.json("doctor")["checks"]}
    assert (checks["engines"]["state"], checks["engines"]["found"]) == (
        "ok",
        "container, joined, process, slurm",
    )
    assert checks["engine acme"]["state"] == "warn"
    assert "a_library_that_is_not_installed" in checks["engine acme"]["found"]
    assert "acme-anubis" in checks["engine acme"]["remedy"]
    assert {"notifier pigeon", "notifier owl"} <= checks.keys()


def test_validate_tells_every_problem_of_every_file(anubis):
    good, bad = anubis.write("good.toml", "true"), anubis.folder / "bad.toml"
    bad.write_text(good.read_text().replace("instance_type", "instance_typ").replace("[ml]", "[mll]"))
    ended = anubis("validate", good, bad)
    assert ended.returncode == 2
    assert f"{good}: valid" in ended.stdout
    reports = anubis.json("validate", good, bad, code=2)
    assert [report["valid"] for report in reports] == [True, False]
    assert {problem["line"] for problem in reports[1]["problems"]} >= {5, 6}


def test_validate_upgrades_an_old_file_with_its_comments(anubis):
    old = anubis.folder / "old.toml"
    old.write_text(
        'spec_version = "0.1.0"\n[info]\ntask_name = "old" # the name\ndescription = "x"\n'
        '[hardware]\ninstance_type = "local"\n[env]\ndocker_image = "a:b"\n[ml]\nbenchmark_code = "true"\n'
    )
    upgraded = anubis("validate", "--upgrade", old)
    assert upgraded.returncode == 0, upgraded.stderr
    assert tomllib.loads(upgraded.stdout)["info"]["name"] == "old"
    assert "# the name" in upgraded.stdout


def test_the_schema_is_json_schema(anubis):
    schema = json.loads(anubis("schema").stdout)
    assert schema["$schema"].startswith("https://json-schema.org/")
    assert "info" in schema["properties"]


def test_the_old_client_still_works(anubis):
    file = anubis.write("hello.toml", "sh -c 'echo hello'")
    submitted = anubis("--submit", file, "--watch")
    assert submitted.returncode == 0
    assert f"anubis run {file}" in submitted.stderr
    (run_id,) = anubis("--last-action-id").stdout.split()
    assert anubis("--results", run_id).stdout == "hello\n"
    assert anubis("--show-descriptor", run_id).stdout.startswith("spec_version")
    assert anubis("--status", run_id).returncode == 0
    assert anubis("--ping").returncode == 0


def test_baictl_still_works(anubis):
    file = anubis.write("hello.toml", "sh -c 'echo hello'")
    run_id = anubis("run", "benchmark", f"--descriptor={file}", program="baictl").stdout.strip()
    assert anubis("watch", run_id).returncode == 0
    assert anubis("logs", "benchmark", f"--name={run_id}", program="baictl").stdout == "hello\n"
    assert run_id[:13] in anubis("list", "benchmark", program="baictl").stdout
    assert anubis("delete", "benchmark", f"--name={run_id}", program="baictl").returncode == 0
