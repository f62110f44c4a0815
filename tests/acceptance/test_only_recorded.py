"""What a descriptor requests and the engine cannot honour is mentioned once, by every command that shows the run."""

REQUEST = """
[hardware.distributed]
num_instances = 2
[custom_params]
region = "us-east-1"
[env]
extended_shm = false
"""
HARDWARE = (
    'instance_type = "local"\ncpus = 4096\ngpus = 1024\navailability_zone = "us-east-1a"\nmemory_gb = 64'
)
PATHS = ["hardware.gpus", "hardware.cpus", "hardware.availability_zone", "env.extended_shm", "custom_params"]


def file_of(anubis):
    file = anubis.write("asks.toml", "true", more=REQUEST)
    file.write_text(file.read_text().replace('instance_type = "local"', HARDWARE))
    return file


def test_a_plan_shows_it(anubis):
    planned = anubis("validate", "--plan", file_of(anubis))
    assert planned.returncode == 0, planned.stderr
    assert all(path in planned.stderr for path in PATHS)
    assert "memory_gb" not in planned.stderr
    (report,) = anubis.json("validate", "--plan", file_of(anubis))
    shown = [problem["path"] for problem in report["problems"] if "only recorded" in problem["message"]]
    assert shown == PATHS


def test_the_run_says_it_once(anubis):
    ended = anubis("run", file_of(anubis))
    assert ended.returncode == 0, ended.stderr
    assert all(path in ended.stderr for path in PATHS)
    (event,) = [each for each in anubis.json("show")["events"] if each["kind"] == "only_recorded"]
    assert event["message"].count("only recorded") == len(PATHS)
    assert "only recorded" in anubis("show").stdout


def test_a_run_without_such_requests_says_nothing(anubis):
    file = anubis.write("plain.toml", "true")
    file.write_text(file.read_text().replace('instance_type = "local"', 'instance_type = "local"\ncpus = 1'))
    assert anubis("run", file).stderr.count("only recorded") == 0
    assert [each["kind"] for each in anubis.json("show")["events"]].count("only_recorded") == 0
