"""Every command works the same after ``anubis register URL``; a new command fails this test until it is listed."""

import io
import json

import click
import pytest

from anubis.cli.app import app, execute
from support.command import Command
from support.git import git
from support.service import Service

METRIC = "[[output.metrics]]\nname = 'score'\nunits = '1'\nbetter = 'higher'\npattern = 'score=(\\S+)'\n"
DAY_S, FIRST_S = 86_400, 1_767_225_600

#: What is called, in order; ``{name}`` is a value that ``known`` finds when the command is called. A number after a bar is
#: the exit status, if it is not 0.
CALLS = """
ping
whoami
import history.csv
series analyse
series list
series show old
alerts list
alerts show {alert}
alerts ack {alert} --why known
alerts mute {alert} --for 1h --why noise
alerts accept {alert} --why intended
alerts reopen {alert} --why known
alerts resolve {alert} --why done
run a.toml --rounds 2
run b.toml data.toml
submit a.toml
watch
status
history
show {run}
results {run}
logs {run}
descriptor {run}
search score=
replay {run}
compare {run} {other} | 4
check {run}
cancel {run}
ab a.toml b.toml --rounds 6 | 3
bisect HEAD~1 HEAD bench.toml
sweep plan sweep.toml
sweep run sweep.toml
sweep status @last
sweep export @last
sweep cancel @last
sweep resume @last
sweep retry @last | 2
schedule add nightly.toml
schedule ls
schedule show nightly
schedule pause nightly
schedule resume nightly
schedule trigger nightly
schedule rm nightly
trigger create hook a.toml --from github --secret hook
trigger list
trigger show hook
trigger delete hook
webhook add http://127.0.0.1:9/ --secret-file secret
webhook list
webhook show {webhook}
webhook resume {webhook}
webhook test {webhook} | 1
webhook remove {webhook}
record extract {run}
record index {run}
record export {run} --output run.archive
record path {run} | 2
record seal
record verify
hold add {run} --why audit
hold list
hold remove {run}
purge {run} --yes
record import run.archive
data ls
data show {dataset}
data verify
data export {dataset} copy
data prune --older-than 0s
export values --output all.parquet --format parquet
export values --output all.jsonl --format jsonl
export site site
report {run} --output report.html
archive write days --today
archive list days
expire
gc
gc --pack
worker token bench-7
worker list
worker show bench-7
worker revoke bench-7
user create bob
user list
user show bob
user join bob team
user leave bob team
user disable bob
user enable bob
project create vision
project list
project show vision
project share vision --weight 2
project grant vision bob viewer
project revoke vision bob
project permit vision network
project forbid vision network
project quota vision --running 2
secret set key --file secret
secret list
secret delete key
sign-in list
sign-in revoke nothing | 2
token create bob
token list
token show {token}
token revoke {token}
audit
"""

#: Command -> why it is not called here: it does not use a service, or another test calls it.
LOCAL = {
    "init": "writes a descriptor file",
    "validate": "reads a descriptor file",
    "schema": "prints the JSON Schema of descriptors",
    "completion": "prints a program for the shell",
    "serve": "is the service",
    "register": "chooses the service, as this test does",
    "unregister": "ends the use of the service, as this test does",
    "login": "signs in with a browser; the tests of sign-ins call it",
    "logout": "revokes the token with which this test asks",
    "mcp": "serves on standard input until it ends; test_mcp.py uses a registered service too",
    "notify": "posts a report file from a job, without an installation",
    "doctor": "checks this machine",
    "backup": "copies the database of the home folder of this machine",
    "restore": "replaces the database of the home folder of this machine",
    "record sign": "signs an archive file with a key of this machine",
    "ui": "opens a browser; the tests of pages use a registered service too",
    "token admin": "makes the first administrator, on the machine of the service",
}


def commands(group=app, before=()):
    """The names of all commands."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from commands(command, (*before, name))
        else:
            yield " ".join((*before, name))


def called(line):
    """The command that a line calls."""
    words = line.split()
    return max((" ".join(words[:count]) for count in (1, 2) if " ".join(words[:count]) in EVERY), key=len)


EVERY = [*commands()]
LINES = CALLS.strip().splitlines()


def test_every_command_is_called_or_has_a_reason():
    known = {called(line) for line in LINES} | LOCAL.keys()
    assert known == {*EVERY}
    assert not {called(line) for line in LINES} & LOCAL.keys()


@pytest.fixture
def served(tmp_path):
    """A service with an administrator, whose token the commands use."""
    folder = tmp_path / "machine"
    folder.mkdir()
    operator = Command(folder / "home", folder)
    made = operator("token", "admin", "ann")
    assert made.returncode == 0, made.stderr
    running = Service(
        operator.home, ANUBIS_SECRET_hook="0123456789abcdef-secret", ANUBIS_WEBHOOK_HOSTS="127.0.0.1"
    ).start()
    yield running, made.stdout.strip()
    running.stop()


@pytest.fixture
def files(anubis):
    """The files that the commands read."""
    folder = anubis.folder
    rows = [f"old,time,{(1 if at < 20 else 2) + at % 3 / 100},s,{FIRST_S + DAY_S * at}" for at in range(40)]
    (folder / "history.csv").write_text("\n".join(["benchmark,metric,value,units,time_s", *rows]))
    (folder / "secret").write_text("0123456789abcdef0123456789abcdef")
    (folder / "data.txt").write_text("1 2 3\n")
    anubis.write("a.toml", "echo score=100", more=METRIC)
    anubis.write("b.toml", "echo score=80", more=METRIC)
    source = f'[[data.sources]]\nsrc = "file://{folder}/data.txt"\npath = "{folder}/fetched/data.txt"\n'
    anubis.write("data.toml", "echo score=100", more=METRIC + source)
    anubis.write("sweep.toml", "echo score=1", more=f'{METRIC}[matrix]\n"env.vars.X" = ["a", "b"]\n')
    (folder / "nightly.toml").write_text(
        (folder / "a.toml")
        .read_text()
        .replace('"a"', '"nightly"')
        .replace("[hardware]", 'scheduling = "@yearly"\n[hardware]')
    )
    anubis.write("bench.toml", "sh ./bench.sh", more=METRIC)
    git(folder, "init", "-q", "-b", "main")
    for level in (100, 80):
        (folder / "bench.sh").write_text(f"echo score={level}\n")
        git(folder, "add", "bench.sh", "bench.toml")
        git(folder, "commit", "-q", "-m", f"level {level}")
    return folder


@pytest.fixture
def here(anubis, files, monkeypatch, capsys):
    """Calls commands in this process, because a hundred processes take minutes: (exit status, stdout, stderr)."""
    monkeypatch.chdir(files)
    monkeypatch.setenv("ANUBIS_HOME", str(anubis.home))
    monkeypatch.setattr("sys.stdin", io.StringIO())

    def call(*words):
        capsys.readouterr()
        status = execute(words)
        return status, *capsys.readouterr()

    return call


def known(here, name):
    """The value of a name in the lines."""

    def rows(*words):
        status, out, err = here(*words, "--json")
        assert status == 0, err
        return json.loads(out) or [{"id": "missing"}]

    if name in {"run", "other"}:
        benchmark = {"run": "b", "other": "a"}[name]
        return rows("history", "--benchmark", benchmark, "--status", "succeeded")[-1]["id"]
    if name == "alert":
        return rows("alerts", "list", "--all")[0]["id"]
    if name == "webhook":
        return rows("webhook", "list")[0]["id"]
    if name == "dataset":
        return rows("data", "ls")[0]["digest"]
    return next(each["prefix"] for each in rows("token", "list") if each["user"] == "bob")


@pytest.mark.timeout(400)  # about a hundred commands
def test_every_command_works_through_a_service(anubis, here, served, files):
    service, token = served
    (files / "token").write_text(token)
    assert here("register", service.url, "--token-file", "token")[0] == 0
    failed = []
    for line in LINES:
        text, _, expected = line.partition(" | ")
        words = [known(here, word[1:-1]) if word.startswith("{") else word for word in text.split()]
        status, out, err = here(*words)
        if status != int(expected or 0) or "unexpected" in err:
            failed.append((text, status, out[-300:], err[-600:]))
        elif status == 2:
            assert "help:" in err, (text, err)
    assert not failed, "\n".join(map(str, failed))
    assert not (anubis.home / "anubis.db").exists(), "no command used the home folder"
