"""Hostile benchmarks in the sandbox of engine process: each tries something, and finds that it cannot be done."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import zstandard

from anubis.agent import process_tree
from anubis.pipeline.host import sandbox
from support.command import BIN, Command
from support.processes import until
from support.service import Service

pytestmark = pytest.mark.skipif(bool(sandbox.why_not()), reason="needs bubblewrap, and the right to use it")

PYTHON = os.path.realpath(sys.executable)
#: What every hostile program begins with: ``tried(name, function)`` prints what came of it.
START = """\
import ctypes, errno, json, mmap, os, signal, socket, subprocess, sys, time
def tried(name, function):
    try:
        got = function()
    except BaseException as error:
        got = f"{type(error).__name__}: {error}"
    print(json.dumps([name, repr(got)]), flush=True)
"""


@pytest.fixture
def anubis(tmp_path, monkeypatch):
    monkeypatch.setenv("ANUBIS_SANDBOX", "on")
    folder = tmp_path / "work"
    folder.mkdir()
    command = Command(tmp_path / "home", folder)
    yield command
    command.close()


def run(anubis, program, *, code=None, more=""):
    """Run a hostile program; its result and its record."""
    script = anubis.folder / "attack.py"
    script.write_text(START + program)
    descriptor = anubis.write("attack.toml", f"{PYTHON} -I attack.py", more=more)
    done = anubis("run", descriptor, "--script", script)
    record = max(anubis.home.glob("records/*/a*/benchmark/0"), key=lambda path: path.stat().st_mtime_ns)
    assert (record / "exit.json").exists(), done.stderr
    result = json.loads((record / "exit.json").read_bytes())
    assert code is None or result["code"] == code, (record / "stderr").read_text() + done.stdout
    return result, record


def attempts(record):
    """Name -> what came of it."""
    rows = (record / "stdout").read_text().splitlines()
    return dict(json.loads(row) for row in rows if row.startswith("["))


def test_reading_what_is_not_its_own(anubis, tmp_path):
    """The home folders, the database, the tokens, the records of other runs, the environments of processes."""
    assert (
        anubis(
            "run", anubis.write("first.toml", f"{PYTHON} -c pass"), "--script", anubis.write("x", "")
        ).returncode
        == 0
    )
    token = Path(tmp_path, "token")
    token.write_text("t0ken-of-the-operator")
    others = [str(path) for path in anubis.home.rglob("*") if path.is_file()]
    assert len(others) > 5
    paths = [
        str(token),
        str(anubis.home / "anubis.db"),
        "/etc/shadow",
        "/root/.ssh",
        "/home",
        "/proc/1/environ",
        *others,
    ]
    program = f"""
for path in {paths!r}:
    tried(path, lambda: open(path, "rb").read())
tried("pids", lambda: [name for name in os.listdir("/proc") if name.isdigit() and name not in ("1", str(os.getpid()))])
tried("listing", lambda: [os.path.join(at, name) for at, _, names in os.walk({str(tmp_path)!r}) for name in names])
tried("environ", lambda: [name for name in os.environ if "SECRET" in name or "TOKEN" in name])
"""
    _, record = run(anubis, program, code=0)
    got = attempts(record)
    assert got.pop("pids") == "[]"
    assert got.pop("environ") == "[]"
    seen = json.loads(got.pop("listing").replace("'", '"'))
    assert sorted(Path(path).name for path in seen) == ["attack.py", "fifo"]
    assert set(got) == set(paths)
    assert not [path for path, what in got.items() if "Error" not in what]


def test_the_network(anubis):
    """A server on loopback, a metadata address, another host, an abstract socket."""
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as local:
        name = f"\0anubis-test-{os.getpid()}"
        local.bind(name)
        local.listen()
        program = f"""
for host, port in (("127.0.0.1", {server.getsockname()[1]}), ("169.254.169.254", 80), ("192.0.2.1", 80)):
    tried(host, lambda: socket.create_connection((host, port), 5))
tried("abstract", lambda: socket.socket(socket.AF_UNIX).connect({name!r}))
tried("links", lambda: os.listdir("/sys/class/net") and open("/proc/net/dev").read().count(":"))
"""
        _, record = run(anubis, program, code=0)
    got = attempts(record)
    assert got.pop("links") == "1"
    assert len(got) == 4
    assert not [name for name, what in got.items() if "Error" not in what]


def test_changing_the_system(anubis):
    program = """
for path in ("/usr/bin/evil", "/etc/passwd", "/evil", "/sys/kernel/uevent_helper", "/proc/sys/kernel/core_pattern",
             "/proc/sysrq-trigger", "/dev/evil", sys.argv[0], "/sys/fs/cgroup/cgroup.procs"):
    tried(path, lambda: open(path, "w"))
libc = ctypes.CDLL(None, use_errno=True)
def call(name, *words):
    if getattr(libc, name)(*words):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
tried("mount", lambda: call("mount", b"x", b"/tmp", b"tmpfs", 0, None))
tried("remount", lambda: call("mount", b"none", b"/usr", None, 32 | 4096, None))
tried("umount", lambda: call("umount2", b"/usr", 2))
tried("mknod", lambda: os.mknod("/tmp/disk", 0o60666, os.makedev(254, 0)))
tried("setuid", lambda: os.setuid(0 if os.getuid() else 1))
tried("chroot", lambda: os.chroot("/tmp"))
tried("hostname", lambda: socket.sethostname("evil"))
tried("settime", lambda: time.clock_settime(time.CLOCK_REALTIME, 0))
tried("module", lambda: call("syscall", 175, b"x", 1, b""))
tried("nice", lambda: os.nice(-5))
"""
    _, record = run(anubis, program, code=0)
    got = attempts(record)
    assert len(got) == 19
    assert not [name for name, what in got.items() if "Error" not in what]


def test_programs_with_more_rights(anubis):
    program = """
open("/tmp/id", "wb").write(open("/usr/bin/id", "rb").read())
os.chmod("/tmp/id", 0o6755)
status = dict(line.split(":\\t", 1) for line in open("/proc/self/status").read().splitlines() if ":\\t" in line)
tried("rights", lambda: [status[name].strip() for name in ("CapPrm", "CapEff", "CapAmb", "NoNewPrivs")])
tried("user", lambda: (os.getresuid(), os.getgroups()))
for folder in ("/usr/bin", "/usr/sbin", "/usr/lib", "/bin"):
    for at, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(at, name)
            if os.path.exists(path) and os.stat(path).st_mode & 0o4000 and name == "su":
                tried(path, lambda: subprocess.run([path, "-c", "id"], capture_output=True, input=b"").returncode == 0)
"""
    _, record = run(anubis, program, code=0)
    got = attempts(record)
    none = "0" * 16
    assert got.pop("rights") == repr([none, none, none, "1"])
    user = sandbox._user("nobody")[0] if os.geteuid() == 0 else os.geteuid()
    assert got.pop("user").startswith(f"(({user}, {user}, {user})")
    assert set(got.values()) <= {"False"}


def test_other_processes(anubis):
    """The agent and the first process of the sandbox can be neither killed nor traced, and their files not read."""
    program = f"""
libc = ctypes.CDLL(None, use_errno=True)
def trace(pid):
    if libc.ptrace(16, pid, None, None):
        raise OSError(ctypes.get_errno(), "ptrace")
agent = {os.getpid()}
for pid in (1, agent):
    tried(f"kill {{pid}}", lambda: os.kill(pid, signal.SIGKILL))
    tried(f"trace {{pid}}", lambda: trace(pid))
    tried(f"memory {{pid}}", lambda: open(f"/proc/{{pid}}/mem", "rb"))
    tried(f"files {{pid}}", lambda: [os.open(f"/proc/{{pid}}/fd/{{n}}", os.O_WRONLY) for n in os.listdir(f"/proc/{{pid}}/fd")])
    tried(f"root {{pid}}", lambda: os.listdir(f"/proc/{{pid}}/root/"))
tried("kill all", lambda: os.kill(-1, signal.SIGKILL))
tried("descriptors", lambda: sorted(int(n) for n in os.listdir("/proc/self/fd"))[:-1])
"""
    result, record = run(anubis, program)
    got = attempts(record)
    assert got.pop("descriptors") == "[0, 1, 2]"
    assert result["code"] == 0
    assert {got.pop("kill 1"), got.pop("kill all")} - {"None"} <= {
        repr("PermissionError: [Errno 1] Operation not permitted"),
        repr("ProcessLookupError: [Errno 3] No such process"),
    }
    assert len(got) == 9
    assert not [name for name, what in got.items() if "Error" not in what]


def test_user_namespaces(anubis, tmp_path):
    """A namespace of its own gives a benchmark rights only over what it can see anyway."""
    secret = tmp_path / "secret"
    secret.write_text("s3cret")
    program = f"""
libc = ctypes.CDLL(None, use_errno=True)
tried("unshare", lambda: libc.unshare(0x10000000 | 0x20000))
for path in ("/usr", "/proc", "/tmp", {str(tmp_path)!r}, "/"):
    tried("umount " + path, lambda: libc.umount2(path.encode(), 2))
tried("remount", lambda: libc.mount(b"none", b"/usr", None, 32 | 4096, None))
tried("secret", lambda: open({str(secret)!r}).read())
tried("system", lambda: open("/usr/evil", "w"))
tried("shadow", lambda: open("/etc/shadow").read())
"""
    _, record = run(anubis, program, code=0)
    got = attempts(record)
    for name in ("secret", "system", "shadow"):
        assert "Error" in got[name], got


def test_a_fork_bomb(anubis, monkeypatch):
    monkeypatch.setenv("ANUBIS_SANDBOX_PROCESSES", "64")
    program = """
count = 0
try:
    for _ in range(1000):
        if os.fork() == 0:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            time.sleep(600)
        count += 1
except OSError as error:
    tried("forks", lambda: (error.errno == errno.EAGAIN, count <= 64))
os._exit(7)
"""
    result, record = run(anubis, program, more="[measure]\ntimeout_s = 30.0")
    assert attempts(record)["forks"] == "(True, True)"
    assert result["code"] == 7
    assert result["executions"][0]["leftovers"]
    assert process_tree.of_record(str(record)) == ([], False)


def test_daemons(anubis):
    """Processes that detach themselves end with the run, and are reported."""
    program = """
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        sys.stdout.close(); sys.stderr.close()
        os.environ.clear()
        time.sleep(600)
    os._exit(0)
os.wait()
"""
    before = {pid for pid, fields in process_tree.table().items()}
    result, _ = run(anubis, program, code=0)
    assert len(result["executions"][0]["leftovers"]) == 1
    left = [
        pid
        for pid in process_tree.table()
        if pid not in before and "attack.py" in process_tree.command_line(pid)
    ]
    assert left == []


def test_the_memory(anubis, monkeypatch):
    monkeypatch.setenv("ANUBIS_SANDBOX_MEMORY_BYTES", str(1 << 28))
    result, record = run(anubis, "blocks = [bytearray(os.urandom(1 << 20) * 16) for _ in range(64)]")
    facts = json.loads((record / "facts.json").read_bytes())["sandbox"]["limits"]["memory"]
    assert facts["asked"] == 1 << 28
    if facts["why"] is not None:
        pytest.skip(f"needs the right to make a memory cgroup: {facts['why']}")
    assert result["cause"] == "out_of_memory"
    assert (result["code"], result["signal"]) == (137, 9)


def test_files_in_memory_are_bounded(anubis, monkeypatch):
    monkeypatch.setenv("ANUBIS_SANDBOX_MEMORY_BYTES", str(1 << 27))
    program = """
def fill(folder):
    with open(folder + "/file", "wb", buffering=0) as file:
        for _ in range(1 << 12):
            file.write(bytes(1 << 20))
tried("/tmp", lambda: fill("/tmp"))
os.unlink("/tmp/file")
tried("/dev/shm", lambda: fill("/dev/shm"))
"""
    _, record = run(anubis, program)
    got = attempts(record)
    assert got
    assert all("No space left" in what for what in got.values())


def test_links_in_its_working_folder(anubis, tmp_path):
    """Nothing outside gets into the archive of the record, or is deleted with it."""
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "token").write_text("t0ken-of-the-operator")
    program = f"""
os.chdir(os.environ["HOME"])
os.symlink({str(secret)!r}, "folder")
os.symlink({str(secret / "token")!r}, "file")
os.mkfifo("pipe")
os.symlink("loop", "loop")
os.chmod(".", 0)
"""
    run(anubis, program, code=0)
    archive = anubis.folder / "run.tar.zst"
    done = anubis("record", "export", "@last", "-o", archive)
    assert done.returncode == 0, done.stderr
    unpacked = subprocess.run(["tar", "-xOf", "-"], input=_plain(archive), capture_output=True, check=False)
    assert b"exit.json" in _plain(archive)
    assert b"t0ken" not in unpacked.stdout + _plain(archive)
    assert anubis("purge", "@last", "--yes").returncode == 0
    assert (secret / "token").read_text() == "t0ken-of-the-operator"


def _plain(archive):
    return zstandard.ZstdDecompressor().stream_reader(archive.read_bytes()).read()


def test_killing_the_agent_ends_the_sandbox(anubis):
    script = anubis.folder / "attack.py"
    script.write_text(
        START
        + "print('here', flush=True)\nif os.fork() == 0: os.setsid(); os.environ.clear()\ntime.sleep(600)"
    )
    process = anubis.start("run", anubis.write("attack.toml", f"{PYTHON} -I attack.py"), "--script", script)
    stdout = until(
        lambda: next(
            (p for p in anubis.home.glob("records/*/a*/benchmark/0/stdout") if p.stat().st_size), None
        ),
        "it runs",
    )
    agent = process_tree.agents_of(str(stdout.parent))[0]
    # bubblewrap, the first process, the benchmark and its child
    inside = until(
        lambda: len(pids := process_tree.descendants(agent, set())) >= 4 and pids, "all have started"
    )
    os.kill(agent, 9)
    until(
        lambda: not set(inside) & {pid for pid, row in process_tree.table().items() if row[0] != b"Z"},
        "all have ended",
    )
    process.communicate(timeout=60)


@pytest.mark.parametrize(
    ("words", "code", "number"),
    [("kill -9 $$", 137, 9), ("kill -11 $$", 139, 11), ("exit 137", 137, None), ("exit 3", 3, None)],
)
def test_exit_codes_and_signals(anubis, words, code, number):
    descriptor = anubis.write("attack.toml", f"sh -c '{words}'")
    anubis("run", descriptor, "--script", anubis.write("x", ""))
    (path,) = anubis.home.glob("records/*/a*/benchmark/0/exit.json")
    result = json.loads(path.read_bytes())
    assert (result["code"], result["signal"]) == (code, number)


def test_a_benchmark_that_ends_at_sigterm(anubis):
    program = """
signal.signal(signal.SIGTERM, lambda *_: (print("bye", flush=True), os._exit(5)))
time.sleep(600)
"""
    result, record = run(anubis, program, more="[measure]\ntimeout_s = 0.5")
    assert (result["code"], result["cause"]) == (5, "timeout")
    assert (record / "stdout").read_text() == "bye\n"


def test_cpu_time_and_memory_are_those_of_the_benchmark(anubis):
    program = """
block = b"x" * (200 << 20)
if os.fork() == 0:
    end = time.process_time() + 0.3
    while time.process_time() < end: pass
    os._exit(0)
os.wait()
"""
    result, _ = run(anubis, program, code=0)
    (execution,) = result["executions"]
    assert 0.3 <= execution["user_s"] + execution["system_s"] <= execution["wall_s"] * 1.2
    assert 200 << 20 <= execution["peak_memory_bytes"] <= 260 << 20


def test_a_folder_that_the_sandbox_does_not_show(anubis):
    done = anubis("run", anubis.write("bench.toml", "true"))
    assert done.returncode != 0
    assert "which does not show the folder" in done.stdout + done.stderr
    assert "--script" in done.stdout + done.stderr


def test_a_folder_of_the_operator(anubis, monkeypatch):
    """It can be read, except for what is hidden in it."""
    anubis.folder.chmod(0o755)
    (anubis.folder / "data").write_text("data\n")
    monkeypatch.setenv("ANUBIS_SANDBOX_PATHS", str(anubis.folder.parent))
    anubis.folder.parent.chmod(0o755)
    home = anubis.home
    words = f"cat data; ls {home}; cat {home}/anubis.db; touch new; cat {home}/records/*/a1/benchmark/0/sandbox.json"
    anubis("run", anubis.write("bench.toml", f"sh -c '{words}'"))
    (record,) = home.glob("records/*/a1/benchmark/0")
    assert (record / "stdout").read_text().split() == ["data", "records"]
    assert "Read-only" in (record / "stderr").read_text()


def test_a_program_that_the_sandbox_does_not_show(anubis):
    path = anubis.folder / "program"
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    done = anubis("run", anubis.write("bench.toml", str(path)), "--script", anubis.write("x", ""))
    assert "ANUBIS_SANDBOX_PATHS" in done.stdout
    (record,) = anubis.home.glob("records/*/a1/benchmark/0")
    assert json.loads((record / "exit.json").read_bytes())["cause"] == "command_not_found"


def test_serve_refuses_a_sandbox_that_does_not_work(anubis, monkeypatch):
    environment = {**anubis.environment(), "PATH": str(BIN)}
    done = subprocess.run(
        [BIN / "anubis", "serve", "--listen", "127.0.0.1:0"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode != 0
    assert "bubblewrap is not installed" in done.stderr
    assert "install bubblewrap" in done.stderr


def test_a_service(tmp_path, monkeypatch):
    """By default a service protects itself: its variables, its files, and its addresses."""
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.setenv("OPERATOR_NOTE", "not for guests")
    monkeypatch.setenv("DEPLOY_TOKEN", "t0ken-of-the-operator")
    service = Service(tmp_path / "served", sandbox="").start()
    guest = Command(tmp_path / "client", folder)
    try:
        assert guest("register", service.url).returncode == 0
        script = folder / "attack.py"
        script.write_text(
            START
            + f"""
tried("environ", lambda: sorted(set(os.environ) & {{"OPERATOR_NOTE", "DEPLOY_TOKEN", "PATH"}}))
tried("service", lambda: socket.create_connection(("127.0.0.1", {service.url.rpartition(":")[2]}), 5))
tried("database", lambda: open({str(service.home / "anubis.db")!r}))
"""
        )
        done = guest("run", guest.write("attack.toml", f"{PYTHON} -I attack.py"), "--script", script)
        assert done.returncode == 0, done.stdout + done.stderr
        (record,) = service.home.glob("records/*/a1/benchmark/0")
        got = attempts(record)
        assert got.pop("environ") == "['PATH']"
        assert len(got) == 2
        assert not [name for name, what in got.items() if "Error" not in what]
        named = guest.write("named.toml", "true", more='[env]\ninherit = ["DEPLOY_TOKEN"]')
        done = guest("run", named, "--script", script)
        assert "the operator does not allow benchmarks to inherit DEPLOY_TOKEN" in done.stderr
        for src in (
            f"file://{service.home}/anubis.db",
            f"{service.url}/metrics",
            "http://169.254.169.254/latest",
        ):
            data = guest.write("data.toml", "true", more=f'[[data.sources]]\nsrc = "{src}"\npath = "/data/x"')
            done = guest("run", data, "--script", script)
            assert done.returncode != 0
            assert "ANUBIS_DATA_HOSTS" in done.stderr, done.stderr
        several = guest.write("several.toml", "true", more="")
        several.write_text(
            several.read_text().replace(
                '"local"', '"local"\nstrategy = "torchrun"\n[hardware.distributed]\nnum_instances = 2'
            )
        )
        done = guest("run", several, "--script", script)
        assert "use one of: single_node, or another engine" in done.stderr
    finally:
        guest.close()
        service.stop()


def test_data_in_the_sandbox(anubis, tmp_path, monkeypatch):
    """They can be read at their path, which is not made on the machine."""
    source = tmp_path / "source"
    source.mkdir()
    (source / "a").write_text("content")
    target = f"/anubis-test-{os.getpid()}/data"
    more = f'[[data.sources]]\nsrc = "{source.as_uri()}"\npath = "{target}"'
    descriptor = anubis.write("data.toml", f"sh -c 'cat {target}/a; echo x > {target}/b'", more=more)
    monkeypatch.setenv("ANUBIS_DATA_FOLDERS", str(source))
    anubis("run", descriptor, "--script", anubis.write("x", ""))
    (record,) = anubis.home.glob("records/*/a1/benchmark/0")
    assert (record / "stdout").read_text() == "content"
    assert "Read-only" in (record / "stderr").read_text()
    assert not Path(target).parent.exists()
    bad = anubis.write("bad.toml", "true", more=more.replace(target, "/usr/lib/x"))
    done = anubis("run", bad, "--script", anubis.folder / "x")
    assert "the sandbox of the benchmark has a folder of the system there" in done.stdout + done.stderr
