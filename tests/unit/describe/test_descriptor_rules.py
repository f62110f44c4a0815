"""What a descriptor may not say: one case for each rule, set on a small valid descriptor."""

import pytest

from anubis import describe
from anubis.describe.instances import Instance
from anubis.model import identity
from anubis.model.problem import Severity

BASE = """
spec_version = "1.0"
[info]
name = "base"
[hardware]
instance_type = "c5.large"
[env]
docker_image = "example/image"
[ml]
benchmark_code = "true"
"""
SERVER = """
[server.hardware]
instance_type = "c5.large"
[server.env]
docker_image = "example/server"
ports = [8080]
start_command = ""
"""
METRIC = '\n[[output.metrics]]\nname = "a"\nunits = "s"\n'
SOURCE = '\n[[data.sources]]\nsrc = "s3://bucket/a"\npath = "/data"\n'


def said(text, **sets):
    reading = describe.read(text, overrides={path.replace("__", "."): value for path, value in sets.items()})
    return [(problem.path, str(problem), problem.severity) for problem in reading.problems]


def the_one(found):
    assert len(found) == 1, found
    return found[0]


WRONG = [
    ("info.name", "two words", "letters, digits"),
    ("info.name", "a" * 64, "1 to 63"),
    ("info.labels.team", "-x", "letter or digit at both ends"),
    ('info.labels."a/b"', "x", "the key"),
    ("info.labels.created-by", "me", "is reserved for Anubis"),
    ("info.labels.Created_By", "me", "is reserved for Anubis"),
    ("info.labels.anubis_run", "me", "is reserved for Anubis"),
    ("info.scheduling", "60 * * * *", "0-59"),
    ("info.timezone", "Mars/Olympus", "unknown time zone"),
    ("info.timezone", "../../etc/passwd", "unknown time zone"),
    ("info.overlap", "skipp", "did you mean `skip`"),
    ("info.execution_engine", "", "one word"),
    ("info.priority", "1.5", "whole number"),
    ("hardware.instance_type", "", "one word"),
    ("hardware.strategy", "horovd", "did you mean `horovod`"),
    ("hardware.gpus", "-1", "at least 0"),
    ("hardware.cpus", "0", "larger than 0"),
    ("hardware.cpus", "nan", "not a finite number"),
    ("hardware.memory_gb", "true", "expected a number, found true"),
    ("hardware.max_wait_s", "0", "larger than 0"),
    ("hardware.max_cost", "25", "such as"),
    ("hardware.max_cost", "3", 'for example: max_cost = "25 USD"'),
    ("measure.timeout_s", '"60s"', "write the number of seconds: 60"),
    ("measure.timeout_s", '"1.5 h"', "write the number of seconds: 5400"),
    ("measure.timeout_s", '"soon"', "for example"),
    ("hardware.max_cost", "0.00 USD", "larger than 0"),
    ("hardware.max_cost", "five USD", "such as"),
    ("hardware.tpus", "1", "did you mean `gpus`"),
    ("env.docker_image", "two words", "without spaces"),
    ("env.privileged", '"true"', "write it without quotes: true"),
    ('env.vars."A=B"', "x", "without '='"),
    ("env.docker_iamge", "x", "did you mean `docker_image`"),
    ("ml.benchmark_code", "python 'x.py", "never closed"),
    ("ml.benchmark_code", "python \\", "lone backslash"),
    ("ml.benchmark_code", " ", "white space"),
    ("ml.args", '--x "', "never closed"),
    ("ml.framework_version", "2", "without a framework"),
    ("measure.repeats", "0", "between 1"),
    ("measure.repeats", '"5"', "write it without quotes: 5"),
    ("measure.repeats", "5.0", "write it without a decimal point: 5"),
    ("measure.warmups", "-1", "between 0"),
    ("measure.warmups", '"some"', 'expected a whole number or "auto", found the string "some"'),
    ("measure.warmups", "1.5", 'expected a whole number or "auto", found the number 1.5'),
    ("measure.numa", "-1", "between 0"),
    ("measure.timeout_s", "0", "larger than 0"),
    ("measure.timeout_s", "inf", "not a finite number"),
    ("measure.pin", "3-1", "write the lower number first: 1-3"),
    ("measure.pin", "0,7-2,9", "the range 7-2 has no CPU"),
    ("measure.pin", "a-b", "numbers of CPUs"),
    ("measure.isolate", "machine", "use one of: `process`, `place`"),
    ("measure.repetitions", "3", "did you mean `repeats`"),
    ("warmups", "1", "write it in [measure]"),
    ("info.priority", "9223372036854775808", "too large"),
]


@pytest.mark.parametrize(("path", "value", "expected"), WRONG)
def test_a_wrong_value_is_told_once_with_its_path(path, value, expected):
    where, text, severity = the_one(said(BASE, **{path.replace(".", "__"): value}))
    assert where == path
    assert expected in text
    assert severity is Severity.ERROR


METRIC_WRONG = [
    ("name", '""', "printable"),
    ("units", '""', "printable"),
    ("pattern", "'('", "does not compile"),
    ("pattern", f"'{'x' * 5000}'", "at most 4096"),
    ("pattern", f"'{'(' * 3000}'", "compile"),
    ("better", "'up'", "use one of: `higher`, `lower`, `none`"),
    ("summary", "'average'", "not a valid value"),
    ("threshold", "{ sigma = 0 }", "larger than 0"),
    ("threshold", "{ change = '5' }", "not a percentage or a ratio"),
    ("threshold", "{ min_effect = -0.1 }", "at least 0"),
    ("threshold", "{ min = 2, max = 1 }", "min 2 is larger than max 1"),
]


@pytest.mark.parametrize(("key", "value", "expected"), METRIC_WRONG)
def test_a_wrong_metric_is_told_at_its_key(key, value, expected):
    lines = "".join(line for line in METRIC.splitlines(keepends=True) if not line.startswith(key))
    where, text, severity = the_one(said(f"{BASE}{lines}{key} = {value}\n"))
    assert where.startswith(f"output.metrics[0].{key}")
    assert expected in text
    assert severity is Severity.ERROR


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("speed=[0-9.]+", "no group"),
        ("(speed)=([0-9.]+)", "2 groups"),
        (r"(?P<step>\d+): (a|b)=([0-9.]+)", "2 groups"),
        (r"(?P<step>\d+): [0-9.]+", "no group for the value"),
        ("speed=([0-9.]+)", None),
        ("(speed)=(?P<value>[0-9.]+)", None),
        ("(?:speed)=([0-9.]+)", None),
        ("[[a]([0-9])", None),
    ],
)
def test_which_group_is_the_value_is_never_a_surprise(pattern, expected):
    found = said(f"{BASE}{METRIC}pattern = '{pattern}'")
    assert [severity for _, _, severity in found] == ([Severity.WARNING] if expected else [])
    assert expected is None or expected in found[0][1]


@pytest.mark.parametrize(
    ("written", "expected"), [("'5%'", 0.05), ("'0.1 %'", 0.001), ("0.05", 0.05), ("' 12.5%'", 0.125)]
)
def test_a_percentage_is_a_ratio(written, expected):
    text = f"{BASE}{METRIC}threshold = {{ change = {written}, min_effect = {written} }}"
    threshold = describe.read(text).descriptor.output.metrics[0].threshold
    assert (threshold.change, threshold.min_effect) == (expected, expected)


def test_metric_names_are_unique_over_client_and_server():
    text = BASE + METRIC + METRIC + SERVER + METRIC.replace("output", "server.output")
    found = said(text, hardware__strategy="inference")
    assert [where for where, _, _ in found] == ["output.metrics[1].name", "server.output.metrics[0].name"]
    assert "first as output.metrics[0]" in found[0][1]


def test_units_are_required_in_new_files():
    where, text, _ = the_one(said(BASE + METRIC.replace('units = "s"', "")))
    assert where == "output.metrics[0].units"
    assert '"none" for a plain number' in text


SOURCE_WRONG = [
    ('src = "bucket/a"\npath = "/d"', "src", "with a scheme"),
    ('src = "s3://b"\npath = "d"', "path", "absolute"),
    ('src = "s3://b"\npath = "/d"\nmd5 = "abc"', "md5", "not an MD5 digest"),
    ('src = "s3://b"\npath = "/d"\nmd5 = ""', "md5", "not an MD5 digest"),
    ('src = "s3://b"\npath = "/d"\ndigest = "abc"', "digest", "sha256:<64 hex"),
    ('src = "s3://b"\npath = "/d"\nuri = "s3://b"', "uri", "repeats `src`"),
    ('src = "s3://b"\npath = "/d"\nuri = "s3://c"', "uri", "have different values"),
    ('src = "s3://b"', "path", "`path` is missing"),
]


@pytest.mark.parametrize(("lines", "key", "expected"), SOURCE_WRONG)
def test_a_wrong_source_is_told_at_its_key(lines, key, expected):
    where, text, _ = the_one(said(f"{BASE}[[data.sources]]\n{lines}\n"))
    assert where == f"data.sources[0].{key}"
    assert expected in text


def test_two_digests_must_be_of_the_same_bytes():
    digests = f'digest = "md5:{"a" * 32}"\nmd5 = "{"b" * 32}"\n'
    where, text, _ = the_one(said(BASE + SOURCE + digests))
    assert where == "data.sources[0].md5"
    assert "differ" in text


def test_two_sources_at_one_path_are_both_named():
    where, text, _ = the_one(said(BASE + SOURCE + SOURCE.replace("/data", "/data/")))
    assert where == "data.sources[1].path"
    assert "data.sources[0]" in text


def test_inference_needs_a_server():
    where, text, _ = the_one(said(BASE, hardware__strategy="inference"))
    assert where == "hardware.strategy"
    assert "[server.hardware]" in text


def test_a_server_nobody_asks_is_a_warning():
    where, _, severity = the_one(said(BASE + SERVER))
    assert (where, severity) == ("server", Severity.WARNING)


@pytest.mark.parametrize(
    ("ports", "where", "expected"),
    [
        ("[]", "server.env.ports", "no port"),
        ("[0]", "server.env.ports[0]", "between 1 and 65,535"),
        ("[80, 80]", "server.env.ports[1]", "twice"),
        ("['80']", "server.env.ports[0]", "write it without quotes: 80"),
        ("[true]", "server.env.ports[0]", "found true"),
    ],
)
def test_ports_are_checked(ports, where, expected):
    text = (BASE + SERVER).replace("[8080]", ports)
    place, message, _ = the_one(said(text, hardware__strategy="inference"))
    assert place == where
    assert expected in message


@pytest.mark.parametrize(
    ("probe", "expected"),
    [
        ("'http://localhost:8080/ping'", ("http", 8080, "/ping")),
        ("'https://any/a?b=c'", ("https", None, "/a?b=c")),
        ("'/ping'", ("http", None, "/ping")),
        ("{ path = '/p', scheme = 'HTTPS' }", ("https", None, "/p")),
    ],
)
def test_a_probe_is_a_url_or_a_table(probe, expected):
    reading = describe.read(
        f"{BASE}{SERVER}readiness_probe = {probe}", overrides={"hardware.strategy": "inference"}
    )
    found = reading.descriptor.server.env.readiness_probe
    assert (found.scheme, found.port, found.path) == expected


@pytest.mark.parametrize(
    ("probe", "where"),
    [
        ("'ftp://localhost/ping'", ""),
        ("'ping'", ""),
        ("'http://localhost:99999/'", ""),
        ("'http://[::1'", ""),
        ("{ path = 'ping' }", ".path"),
        ("{ path = '/p', port = 0 }", ".port"),
        ("{ path = '/p', period_seconds = 0 }", ".period_seconds"),
        ("{ path = '/p', scheme = 'tcp' }", ".scheme"),
        ("{ path = '/p', command = 'true' }", ".command"),
        ("3", ""),
    ],
)
def test_a_probe_that_cannot_be_asked_is_told(probe, where):
    text = f"{BASE}{SERVER}readiness_probe = {probe}"
    assert the_one(said(text, hardware__strategy="inference"))[0] == f"server.env.readiness_probe{where}"


@pytest.mark.parametrize(
    ("name", "zone_id", "agree"),
    [
        ("us-east-1a", "use1-az2", True),
        ("eu-central-1b", "euc1-az1", True),
        ("ap-northeast-1a", "apne1-az4", True),
        ("us-gov-west-1a", "usgw1-az1", True),
        ("us-west-2-lax-1a", "usw2-lax1-az1", True),
        ("us-east-1a", "use2-az2", False),
        ("eu-west-1a", "use1-az2", False),
        ("rack-7", "use1-az2", True),
    ],
)
def test_zone_name_and_zone_id_lie_in_one_region(name, zone_id, agree):
    found = said(BASE, hardware__availability_zone=name, hardware__aws_zone_id=zone_id)
    assert [where for where, _, _ in found] == ([] if agree else ["hardware.aws_zone_id"])


@pytest.mark.parametrize(
    ("instance_type", "more", "wrong"),
    [
        ("c5.large", {}, True),
        ("p3.8xlarge", {}, False),
        ("ml.p3.8xlarge", {}, False),
        ("ml.c5.large", {}, True),
        ("q9.huge", {}, True),
        ("q9.huge", {"hardware__gpus": "0"}, True),
        ("c5.large", {"hardware__gpus": "2"}, False),
        ("rack", {"hardware__gpus": "2"}, False),
        ("local", {}, False),
        ("t2.micro", {}, True),
    ],
)
def test_one_process_for_each_gpu_needs_gpus(instance_type, more, wrong):
    text = f'{BASE}[hardware.distributed]\nprocesses_per_instance = "gpus"'
    found = said(text, hardware__strategy="horovod", hardware__instance_type=instance_type, **more)
    assert [where for where, _, _ in found] == (
        ["hardware.distributed.processes_per_instance"] if wrong else []
    )


def test_an_operators_table_of_machines_counts():
    text = f'{BASE}[hardware.distributed]\nprocesses_per_instance = "gpus"'
    sets = {"hardware.strategy": "torchrun", "hardware.instance_type": "rack"}
    with_gpus, without = ({"rack": Instance(cpus=8, memory_gib=64, gpus=gpus)} for gpus in (2, 0))
    assert describe.read(text, overrides=sets, instances=with_gpus).descriptor is not None
    assert describe.read(text, overrides=sets, instances=without).descriptor is None


def test_a_machine_whose_gpus_are_unknown_is_refused_where_their_number_matters():
    text = f'{BASE}[hardware.distributed]\nprocesses_per_instance = "gpus"'
    (problem,) = describe.read(
        text, overrides={"hardware.strategy": "torchrun", "hardware.instance_type": "p9.huge"}
    ).problems
    assert problem.message == 'the number of GPUs of "p9.huge" is not known'
    assert "hardware.gpus" in problem.remedy


@pytest.mark.parametrize("written", ["0", "-1", '"0"', '"x4"', '"gpusfoo"', "1.5", "true"])
def test_processes_are_a_number_or_gpus(written):
    text = f"{BASE}[hardware.distributed]\nprocesses_per_instance = {written}"
    found = said(text, hardware__strategy="mpi")
    assert the_one(found)[0] == "hardware.distributed.processes_per_instance"


def test_distributed_settings_that_nobody_uses_are_a_warning():
    where, _, severity = the_one(said(f"{BASE}[hardware.distributed]\nnum_instances = 3"))
    assert (where, severity) == ("hardware.distributed", Severity.WARNING)


def test_horovod_alone_is_an_error_in_new_files_and_one_machine_is_fine_elsewhere():
    text = f"{BASE}[hardware.distributed]\nnum_instances = 1"
    assert the_one(said(text, hardware__strategy="horovod"))[2] is Severity.ERROR
    assert said(text, hardware__strategy="torchrun") == []
    assert said(f"{text}\nprocesses_per_instance = 4", hardware__strategy="horovod") == []


@pytest.mark.parametrize("engine", ["process", "default", "container", "of-a-plug-in"])
def test_without_an_image_there_must_be_a_command(engine):
    text = BASE.replace('docker_image = "example/image"', "")
    assert said(text, info__execution_engine=engine) == []
    where, message, _ = the_one(
        said(text.replace('benchmark_code = "true"', ""), info__execution_engine=engine)
    )
    assert (where, "neither a command nor an image to run" in message) == ("ml.benchmark_code", True)


@pytest.mark.parametrize("engine", ["kubernets", "k8s-lab-in-basement"])
def test_an_engine_may_have_any_name(engine):
    assert said(BASE, info__execution_engine=engine) == []


@pytest.mark.parametrize(
    ("lines", "where", "severity"),
    [
        ('to = "slack:#perf"', None, None),
        ('to = "mailto:team@example.org"\non = ["improvement", "drift"]', None, None),
        ('to = "mailto:team"', "notify[0].to", Severity.ERROR),
        ('to = "perf"', "notify[0].to", Severity.ERROR),
        ('to = "carrier-pigeon:#perf"', None, None),
        ('to = "slack:#perf"\non = ["regresion"]', "notify[0].on[0]", Severity.ERROR),
        ('to = "slack:#perf"\nconfirm_runs = -1', "notify[0].confirm_runs", Severity.ERROR),
        ('on = ["failure"]', "notify[0].to", Severity.ERROR),
    ],
)
def test_who_is_told_is_checked(lines, where, severity):
    found = said(f"{BASE}[[notify]]\n{lines}")
    assert [(place, level) for place, _, level in found] == ([(where, severity)] if where else [])


def test_a_misspelt_key_is_not_reported_as_missing_too():
    text = BASE.replace("instance_type", "instance_typ")
    assert the_one(said(text))[0] == "hardware.instance_typ"


def test_a_key_of_another_table_is_sent_there():
    _, text, _ = the_one(said(f"{BASE}repeats = 3"))
    assert "write it in [measure]" in text


@pytest.mark.parametrize(("written", "found"), [("[1]", "a list"), ("3", "the number 3"), ("{}", "a table")])
def test_arguments_are_text(written, found):
    where, text, _ = the_one(said(f"{BASE}args = {written}"))
    assert (where, f"expected a string, found {found}" in text) == ("ml.args", True)


def test_numbers_and_dates_belong_in_quotes_where_text_is_wanted():
    for value, expected in (("32", '"32"'), ("true", '"true"'), ("2024-01-01", '"2024-01-01"')):
        _, text, _ = the_one(said(f"{BASE}[env.vars]\nA = {value}"))
        assert expected in text


OLD = 'spec_version = "0.1.0"\ninfo.description = "x"\ninfo.task_name = "x"\nenv.docker_image = "x"\n'


def test_an_old_file_without_a_command_uses_the_images_own():
    descriptor = describe.read(f'{OLD}hardware.instance_type = "c5.large"').descriptor
    assert descriptor.ml.benchmark_code is None


@pytest.mark.parametrize("instance_type", ["g5.xlarge", "p4d.24xlarge", "ml.p3.8xlarge", "p99.huge", "local"])
def test_a_machine_nobody_knew_in_2019_is_no_error(instance_type):
    assert describe.read(f'{OLD}hardware.instance_type = "{instance_type}"').descriptor is not None


def test_text_stays_text_whatever_is_in_it():
    text = f"{BASE}[info.labels]\nbuild = '007'\n[[output.metrics]]\nname = 'a: b'\nunits = 'it''s'\n"
    text = text.replace("'it''s'", '"it\'s \\"x\\" {y}"')
    descriptor = describe.read(text).descriptor
    assert descriptor.info.labels == {"build": "007"}
    assert descriptor.output.metrics[0].units == 'it\'s "x" {y}'


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("spec_version = 1.0", "1.0 is not a known version"),
        ('spec_version = "2.0"', '"2.0" is not a known version'),
    ],
)
def test_a_version_nobody_knows_is_an_error_beside_the_others(version, expected):
    text = f'{version}\n[info]\nname = "a b"\n[hardware]\ninstance_type = "c5.large"\n[ml]\nbenchmark_code = "x"\n'
    found = said(text)
    assert [where for where, _, _ in found] == ["spec_version", "info.name"]
    assert expected in found[0][1]
    assert '"1.0"' in found[0][1]


@pytest.mark.parametrize(
    ("command", "env"),
    [
        ('benchmark_code = "run ${KEY}"', 'vars = { KEY = "secret:ONE" }'),
        ('benchmark_code = "run"\nargs = "--key=$(KEY)"', 'vars = { KEY = "secret:ONE" }'),
        ('benchmark_code = "run ${KEY}"', 'inherit = ["KEY"]'),
    ],
)
def test_a_secret_is_not_part_of_a_command(command, env):
    text = BASE.replace('benchmark_code = "true"', command).replace("[env]", f"[env]\n{env}")
    _, problem, severity = the_one(said(text))
    assert severity is Severity.ERROR
    assert '"KEY" must not be on the command line' in problem


def test_the_secrets_of_a_server_are_not_part_of_its_command():
    server = SERVER.replace('start_command = ""', 'start_command = "serve ${KEY} ${OTHER}"')
    server += '[server.env.vars]\nKEY = "secret:ONE"\n'
    text = BASE.replace('"c5.large"', '"c5.large"\nstrategy = "inference"', 1).replace(
        "[env]", '[env]\ninherit = ["OTHER"]'
    )
    path, problem, _ = the_one(said(text + server))
    assert path == "server.env.start_command"
    assert '"KEY"' in problem


def test_other_variables_and_similar_text_may_be_part_of_a_command():
    env = '[env]\ninherit = ["TOKEN"]\nvars = { KEY = "secret:ONE", SIZE = "1" }'
    text = BASE.replace('"true"', '"run ${SIZE} $KEY KEY ${KEYS}"').replace("[env]", env)
    assert said(text) == []


@pytest.mark.parametrize("value", ["secret:", "secret:a b", "secret:1A", "secret:A-B"])
def test_a_reference_names_a_secret(value):
    text = BASE.replace("[env]", f'[env]\nvars = {{ A = "{value}", B = "secrets:x" }}')
    path, problem, _ = the_one(said(text))
    assert path == "env.vars.A"
    assert "does not refer to a secret" in problem


@pytest.mark.parametrize("name", ["A=B", "A B", ""])
def test_inherited_names_are_names_of_variables(name):
    path, _, _ = the_one(said(BASE.replace("[env]", f'[env]\ninherit = ["{name}"]')))
    assert path == "env.inherit[0]"


SHORT = 'info.name = "x"\nml.benchmark_code = "x"\n'


def test_name_and_command_are_enough_and_the_defaults_change_no_digest():
    reading = describe.read(SHORT)
    assert reading.problems == ()
    whole = f'spec_version = "1.0"\n{SHORT}hardware.instance_type = "local"'
    assert reading.descriptor == describe.read(whole).descriptor
    # Recorded before these defaults existed: stored runs keep their digests and series.
    assert identity.digest(reading.descriptor) == (
        "a790112a87f6265181e71b463a78d09cd6aca0deb05f2da04feef25f48f9a53b"
    )
    assert identity.series_key(reading.descriptor) == (
        "a790112a87f6265181e71b463a78d09cd6aca0deb05f2da04feef25f48f9a53b"
    )


def test_an_old_file_needs_its_machine_and_its_version():
    def errors(text):
        return [where for where, _, severity in said(text) if severity is Severity.ERROR]

    assert errors(OLD) == ["hardware.instance_type"]
    assert errors(OLD.partition("\n")[2] + 'hardware.instance_type = "t3.small"') == ["spec_version"]


@pytest.mark.parametrize(
    "wrong", ["hardware = 5", "hardware.instance_type = {}", "hardware.instance_type = 3"]
)
def test_a_default_replaces_no_wrong_value(wrong):
    (found,) = said(f"{wrong}\n{SHORT}")
    assert found[0] in {"hardware", "hardware.instance_type"}


@pytest.mark.parametrize("value", ["[]", "{}", "1"])
def test_a_strategy_of_another_type_is_one_problem(value):
    """Found by make fuzz."""
    text = (
        'spec_version = "1.0"\n[info]\nname = "x"\n[ml]\nbenchmark_code = "true"\n'
        f'[hardware]\ninstance_type = "local"\nstrategy = {value}\n[server.hardware]\ninstance_type = "local"\n'
    )
    problems = [problem.path for problem in describe.read(text).problems]
    assert problems.count("hardware.strategy") == 1


@pytest.mark.parametrize("pin", ["", "auto"])
def test_a_node_with_another_choice_of_cpus_is_one_error(pin):
    measure = '[measure]\nnuma = 0\npin = "{}"\n'
    where, text, severity = the_one(said(BASE + measure.format("0-3")))
    assert (where, severity) == ("measure.numa", Severity.ERROR)
    assert 'pin = "0-3" and numa = 0 both select CPUs' in text
    assert said(BASE + measure.format(pin)) == []


@pytest.mark.parametrize("strategy", ["torchrun", "mpi"])
def test_replicas_in_step_cannot_have_automatic_warm_ups(strategy):
    auto = {"measure__warmups": "auto"}
    assert said(BASE, **auto) == []
    where, text, _ = the_one(said(BASE, **auto, hardware__strategy=strategy))
    assert where == "measure.warmups"
    assert "write a number" in text
