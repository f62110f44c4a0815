"""Old files in every layout TOML allows are upgraded without changing what they mean."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anubis import describe
from anubis.model.errors import BadInputError

INFO = [
    '[info]\ndescription = "A b"\ntask_name = "Some task"  # the name\n',
    '[info]\n  task_name = "t"\n  description = """\nlong"""\n  [info.labels]\n  team = "x"\n',
    '[info]\ndescription = "A b"\n[info.labels]\ntask_name = "T x"  # the name\nteam = "x"\n',
    '[info]\ndescription = "A b"\nlabels = { task_name = "t-x", team = "x" }\n',
    '[info]\ndescription = "A b"\nlabels = { team = "x", task_name = "t-x" }\ntask_name = "other"\n',
    '[info.labels]\ntask_name = "t"\n[info]\ndescription = "x"\n',
    '["info"]\n"description" = "ü ü"\n\'labels\'.task_name = "t"\n',
    '[info]\n# nothing but\ndescription = ""\n',
]
DOTTED = [
    'info.description = "A b"\ninfo.task_name = "t"  # name\n',
    'info = { task_name = "t", description = "A b" }\n',
    'info = { description = "A b", labels = { task_name = "t" } }  # all\n',
    'info.labels.task_name = "t"\ninfo.description = "A"\n',
    'info = { labels.task_name = "t", description = "A b", task_name = "u" }\n',
]
HARDWARE = [
    '[hardware]\ninstance_type = "c5.large"\nstrategy = "single_node"\n',
    '[hardware]\ninstance_type = "p3.8xlarge"\nstrategy = "mxnet_parameter_server"  # slow\n',
    '[hardware]\ninstance_type = "c5.large"\nstrategy = "horovod"\n[hardware.distributed]\nnum_instances = "4"  # why text\n',
    '[hardware]\ninstance_type = "c5.large"\nstrategy = "horovod"\ndistributed = { num_instances = "3" }\n',
    '[hardware]\ninstance_type = "c5.large"\nstrategy = "horovod"\ndistributed.num_instances = "3"\n',
]
DATA = [
    "",
    '[data]\nsources = [{ path = "/a", src = "s3://a", uri = "s3://a", md5 = "" }]  # two at the end\n',
    '[data]\nsources = [{ md5 = "", uri = "s3://a", src = "s3://a", path = "/a" }]  # two in front\n',
    '[data]\nsources = [{ uri = "s3://a", path = "/a", src = "s3://a" , md5 = "" }]  # far apart\n',
    '[data]\nid = "all"  # ignored\n[[data.sources]]\nuri = "s3://a/b"\npath = "/a"\nmd5 = ""\n',
    '[[data.sources]]\nsrc = "s3://a/b"\npath = "/a"\nuri = "s3://a/b"  # twice\n[[data.sources]]\nuri="s3://c"\npath="/c"\n',
    '[data]\nsources = [\n  { uri = "s3://a", path = "/a", md5 = "" },  # one\n  { md5 = "", uri = "s3://b", path = "/b" },\n]\n',
    f'[[data.sources]]\nsrc = "s3://a"\npath = "/a"\nmd5 = "MD5:{"A" * 32}"  # typed\n',
    f'[[data.sources]]\nsrc = "s3://a"\npath = "/a"\nmd5 = "{"A" * 32}"\n',
    'data.id = "x"\n',
    'data = { id = "x" }\n',
]
OUTPUT = [
    "",
    '[output]\nmetrics = ["a", "b"]  # emitted\n',
    '[[output.metrics]]\nname = "a"\npattern = \'a=([0-9]+)\'\n  [[output.metrics]]\n  name = "b"\n  units = "s"\n',
    '[output]\nmetrics = [{ name = "a" }, { name = "b", units = "s", required = true }]\n',
    '[output]\n[[output.metrics]]\nname = "a"\nthreshold = { min = 1 }\n[output.metrics.threshold]\n'.replace(
        "threshold = { min = 1 }\n", ""
    ),
    '[[output.metrics]]\nname = "a"\n\n# last line without an end',
    '[[output.metrics]]\nname = "a"',
]
ENV = [
    '[env]\ndocker_image = "x"\n',
    '[env]\ndocker_image = "x"\n[env.vars]\nA = "1"\n',
]
SERVER = """[server.hardware]
instance_type = "c5.large"
{zone}
[server.env]
docker_image = "y"
ports = [80]
start_command = ""
{probes}
[[server.models]]
uri = "s3://m"
path = "/m"
[[server.output.metrics]]
name = "server-side"
"""
ZONES = ["", 'availability_zone = "us-east-1a"  # here', 'aws_zone_id = "use1-az1"']
PROBES = [
    "",
    'ready_probe = "http://x/ping"  # asked\nlive_probe = "/alive"',
    'liveliness_probe = { path = "/a", timout_seconds = 3 }',
    '[server.env.ready_probe]\npath = "/a"\ntimout_seconds = 3  # slow',
    'ready_probe.path = "/a"\nready_probe.timout_seconds = 3',
    '[server.env.readiness_probe]\npath = "/a"\n[server.env.liveliness_probe]\npath = "/b"',
]


@st.composite
def old_files(draw):
    """An old file: its sections in any order and any of their old layouts."""
    choose = lambda options: draw(st.sampled_from(options))  # noqa: E731  short for what follows
    sections = [choose(HARDWARE), choose(ENV), choose(DATA), choose(OUTPUT)]
    first = ""
    if draw(st.booleans()):
        first = choose(DOTTED)
    else:
        sections.append(choose(INFO))
    if draw(st.booleans()):
        sections[0] = '[hardware]\ninstance_type = "c5.large"\nstrategy = "client-server"\n'
        sections.append(SERVER.format(zone=choose(ZONES), probes=choose(PROBES)))
    loose = [section for section in sections if section.startswith("data")]
    rest = draw(st.permutations([section for section in sections if section not in loose]))
    rest.sort(key=lambda section: not section.endswith("\n"))
    newline = choose(["\n", "\r\n"])
    return "".join([choose(["", "# head\n"]), "spec_version = '0.1.0'\n", first, *loose, *rest]).replace(
        "\n", newline
    )


@given(old_files())
@settings(max_examples=150)
def test_an_upgraded_file_means_the_same(text):
    before = describe.read(text)
    assert before.descriptor is not None, before.problems
    upgraded = describe.upgrade(text)
    after = describe.read(upgraded)
    assert after.descriptor == replace(before.descriptor, spec_version="1.0")
    assert [problem for problem in after.problems if "old spelling" in problem.message] == []
    assert [line.partition("#")[2] for line in upgraded.splitlines() if "#" in line] == [
        line.partition("#")[2] for line in text.splitlines() if "#" in line
    ]
    assert upgraded.count("\r\n") == (upgraded.count("\n") if "\r\n" in text else 0)


def test_the_image_of_the_machine_engine_moves_to_its_table():
    text = (
        'spec_version = "0.1.0"\n[info]\ndescription = "x"\nexecution_engine = "aws.ec2"\n'
        '[hardware]\ninstance_type = "c5.large"\n[aws.ec2]\nimage = "ami-1"  # ours\n'
    )
    upgraded = describe.upgrade(text)
    assert upgraded.endswith('# ours\n\n[env]\ndocker_image = "ami-1"\n')
    assert "aws.ec2]" not in upgraded


def test_a_table_in_braces_goes_whole():
    text = (
        'spec_version = "0.1.0"\naws = { ec2 = { image = "ami-1" } }\n[info]\ndescription = "x"\n'
        'execution_engine = "aws.ec2"\n[hardware]\ninstance_type = "c5.large"\n[env]\nprivileged = false\n'
    )
    upgraded = describe.upgrade(text)
    assert "aws =" not in upgraded
    assert upgraded.endswith('[env]\nprivileged = false\ndocker_image = "ami-1"\n')


def test_what_1_0_refuses_is_told_instead_of_written():
    text = (
        'spec_version = "0.1.0"\n[info]\ndescription = "x"\n[env]\ndocker_image = "x"\n[hardware]\n'
        'instance_type = "c5.large"\nstrategy = "horovod"\ndistributed = { num_instances = 1 }\n'
    )
    assert describe.read(text).descriptor is not None
    with pytest.raises(BadInputError, match="stricter") as raised:
        describe.upgrade(text)
    assert raised.value.problems[0].path == "hardware.distributed.num_instances"


def test_what_is_no_toml_is_not_upgraded():
    with pytest.raises(BadInputError) as raised:
        describe.upgrade("[info\n")
    assert raised.value.problems[0].line == 1


def test_a_new_file_without_a_version_gets_none():
    text = '[info]\nname = "x"\n[hardware]\nstrategy = "single-node"\n[ml]\nbenchmark_code = "x"\n'
    assert describe.upgrade(text) == text.replace("single-node", "single_node")
