"""A private Slurm cluster with accounting for a test session: fixture ``slurm``.

Two nodes, a controller, an accounting daemon with MariaDB, and munge. The daemons listen on all addresses, so they run in
network namespaces that only this machine reaches: one for the controller, and one for each node, with its own host name.
"""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest

from support.podman import needed
from support.processes import until

#: Control groups have the names of nodes, so that these must differ from those of other processes of the tests.
NODES = tuple(f"n{os.getpid()}x{number}" for number in (1, 2))
#: Addresses of this machine, of the controller and of the nodes: different ones for each process of the tests.
_NETWORK = os.getpid() % (1 << 13) * 8
OUTSIDE, INSIDE, *AT = (f"10.213.{(_NETWORK + host) >> 8}.{(_NETWORK + host) & 255}" for host in range(1, 5))
CONTROLLER = "slurmtest"
#: In a namespace, made by this program: a bridge that connects all of them and this machine.
BRIDGE = f"""ip link add bridge type bridge
ip addr add {INSIDE}/29 dev bridge
ip link set bridge up
"""
PROGRAMS = {
    "slurmctld": "slurm-wlm",
    "slurmd": "slurm-wlm",
    "slurmdbd": "slurmdbd",
    "sbatch": "slurm-client",
    "munged": "munge",
    "mariadbd": "mariadb-server",
    "mariadb-install-db": "mariadb-server",
    "ip": "iproute2",
}
CONFIGURATION = """
ClusterName=anubistest
SlurmctldHost={controller}({inside})
SlurmctldPort=16817
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmctldPidFile={folder}/slurmctld.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmdLogFile={folder}/slurmd-%n.log
SlurmdSpoolDir={folder}/spool-%n
ProctrackType={proctrack}
TaskPlugin={task}
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=300
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0
GresTypes=gpu
ReturnToService=2
SlurmctldTimeout=10
SlurmdTimeout=10
InactiveLimit=0
KillWait=5
MinJobAge={min_age_s}
JobRequeue=1
MpiDefault=none
SlurmdParameters=config_overrides
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost={inside}
AccountingStoragePort=16819
AccountingStoragePass={folder}/munge/socket
AccountingStorageTRES=gres/gpu
AccountingStorageEnforce=associations
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=1
MessageTimeout=3
SlurmdPort=16821
{nodes}
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO
PartitionName=short Nodes=ALL MaxTime=1 State=UP
"""
ACCOUNTING = """
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
DbdHost={controller}
DbdAddr={inside}
DbdPort=16819
SlurmUser=root
LogFile={folder}/slurmdbd.log
PidFile={folder}/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort=16820
StorageUser=slurm
StoragePass=slurm
StorageLoc=slurm_acct
"""


class Cluster:
    """The daemons of a cluster in a folder; each can be killed, stopped and started again."""

    def __init__(self, folder, *, min_age_s=300):
        self.folder = folder
        self.environment = {"SLURM_CONF": f"{folder}/slurm.conf"}
        self.processes = {}
        limited = Path("/sys/fs/cgroup/memory/memory.limit_in_bytes").exists()
        kinds = ("proctrack/cgroup", "task/cgroup") if limited else ("proctrack/linuxproc", "task/none")
        #: Whether the kernel ends elements that need more memory than they have.
        self.limits_memory = limited
        about = "CPUs=8 RealMemory=4000 Gres=gpu:2 Feature=fast,local"
        nodes = "\n".join(
            f"NodeName={node} NodeAddr={at} {about}" for node, at in zip(NODES, AT, strict=True)
        )
        values = {"inside": INSIDE, "folder": folder, "min_age_s": min_age_s, "controller": CONTROLLER}
        values["nodes"] = nodes
        self._write("slurm.conf", CONFIGURATION.format(**values, proctrack=kinds[0], task=kinds[1]))
        self._write("slurmdbd.conf", ACCOUNTING.format(**values))
        self._write("cgroup.conf", "CgroupPlugin=cgroup/v1\nConstrainRAMSpace=yes\nConstrainSwapSpace=no\n")
        self._write("gres.conf", f"NodeName={','.join(NODES)} Name=gpu Count=2 File=/dev/tty[1-2]\n")
        for name in ("munge", "state", *(f"spool-{node}" for node in NODES)):
            (folder / name).mkdir()

    def up(self):
        """Start everything, and wait until both nodes can be used."""
        self._connect()
        self._start_munge()
        self._start_database()
        self.start_accounting()
        self.call("sacctmgr", "-i", "add", "cluster", "anubistest")
        self.call("sacctmgr", "-i", "add", "account", "team")
        self.call("sacctmgr", "-i", "add", "user", "root", "account=team")
        self.start_controller()
        for node in NODES:
            self.start_node(node)
        self.wait_idle()

    def start_controller(self):
        self.start("slurmctld", "slurmctld", "-D")
        until(lambda: self.tried("scontrol", "ping", "--local") is not None, "slurmctld responds")

    def start_accounting(self):
        self.start("slurmdbd", "slurmdbd", "-D")
        until(lambda: self.tried("sacctmgr", "-i", "show", "cluster") is not None, "slurmdbd responds")

    def start_again(self, **values):
        """Start the controller again with other parameters."""
        self.end("slurmctld", signal.SIGTERM)
        path = self.folder / "slurm.conf"
        text = path.read_text()
        for name, value in values.items():
            text = re.sub(rf"^{name}=.*$", f"{name}={value}", text, flags=re.MULTILINE)
        path.write_text(text)
        self.start_controller()

    def queue(self, *words):
        """The elements in the queue of the usual partition."""
        return self.call("squeue", "--noheader", "--partition=main", *words)

    def start_node(self, node):
        self.start(node, "slurmd", "-D", "-N", node, host=node)

    def connect(self, node, *, to_others=True):
        """Connect a node with the others, or disconnect it."""
        run(*self._inside(CONTROLLER), "ip", "link", "set", node, "up" if to_others else "down")

    def wait_idle(self):
        def idle():
            listed = self.tried("sinfo", "--noheader", "--Node", "--format", "%N %T", "--partition", "main")
            return listed is not None and all(
                re.search(rf"^{node} (idle|mixed)$", listed, re.MULTILINE) for node in NODES
            )

        until(idle, "both nodes can be used")

    def end(self, name, number=signal.SIGKILL):
        """End a daemon; what it started continues. A controller that is killed may forget the last seconds."""
        process = self.processes.pop(name)
        process.send_signal(number)
        process.wait()

    def down(self):
        for process in reversed(list(self.processes.values())):
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGCONT)
                process.kill()
            process.wait()
        self.processes.clear()
        for node in NODES:
            for group in Path("/sys/fs/cgroup").glob(f"*/slurm_{node}"):
                remove_group(group)

    def call(self, *words, code=0):
        """What a command of Slurm printed."""
        ended = subprocess.run(
            words, check=False, capture_output=True, text=True, env=os.environ | self.environment
        )
        assert ended.returncode == code, ended.stdout + ended.stderr
        return ended.stdout.strip()

    def tried(self, *words):
        """What a command printed; None if it failed."""
        ended = subprocess.run(
            words, check=False, capture_output=True, text=True, env=os.environ | self.environment
        )
        return None if ended.returncode else ended.stdout.strip()

    def start(self, name, *words, host=CONTROLLER):
        """Start a daemon on a host."""
        with (self.folder / f"{name}.out").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                [*self._inside(host), *words],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                env=os.environ | self.environment,
            )

    def _write(self, name, text):
        (self.folder / name).write_text(text)
        (self.folder / name).chmod(0o600)

    def _connect(self):
        """Make the hosts, and connect them and this machine."""
        names = dict(zip((CONTROLLER, *NODES), (INSIDE, *AT), strict=True))
        lines = ["127.0.0.1 localhost", *(f"{address} {name}" for name, address in names.items())]
        (self.folder / "hosts").write_text("\n".join(lines) + "\n")
        for name in names:
            self._make_host(name)
        run(*self._inside(CONTROLLER), "sh", "-ec", BRIDGE)
        link = f"anubis{os.getpid() % 100000}"
        self._plug(link, "outside", f"ip addr add {OUTSIDE}/29 dev {link}; ip link set {link} up", ())
        for name, address in zip(NODES, AT, strict=True):
            inside = self._inside(name)
            self._plug(
                f"{link}x", name, f"ip addr add {address}/29 dev inside; ip link set inside up", inside
            )

    def _make_host(self, name):
        setup = f"hostname {name} && ip link set lo up && mount --bind {self.folder}/hosts /etc/hosts"
        words = [
            "unshare",
            "--net",
            "--uts",
            "--mount",
            "sh",
            "-c",
            f"{setup} && echo ready && exec sleep infinity",
        ]
        holder = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, start_new_session=True)
        self.processes[f"host {name}"] = holder
        if holder.stdout.readline() != "ready\n":
            pytest.skip("needs the right to create network namespaces")
        holder.stdout.close()

    def _plug(self, link, port, setup, host):
        """Connect a host with a port of the bridge; ``setup`` is executed there."""
        controller = self.processes[f"host {CONTROLLER}"].pid
        run("ip", "link", "add", link, "type", "veth", "peer", "name", port, "netns", str(controller))
        if host:
            pid = host[1].partition("=")[2]
            run("ip", "link", "set", link, "netns", pid, "name", "inside")
        run(*host, "sh", "-ec", setup)
        run(
            *self._inside(CONTROLLER), "sh", "-ec", f"ip link set {port} master bridge; ip link set {port} up"
        )

    def _inside(self, host):
        """The words that start a program on a host."""
        return ("nsenter", f"--target={self.processes[f'host {host}'].pid}", "--net", "--uts", "--mount")

    def _start_munge(self):
        munge = self.folder / "munge"
        (munge / "key").write_bytes(os.urandom(128))
        (munge / "key").chmod(0o600)
        files = [f"--{name}-file={munge}/{name}" for name in ("key", "pid", "log", "seed")]
        self.start("munged", "munged", "--foreground", "--force", f"--socket={munge}/socket", *files)
        until((munge / "socket").exists, "munged responds")

    def _start_database(self):
        data = f"--datadir={self.folder}/db"
        run(
            "mariadb-install-db",
            "--no-defaults",
            data,
            "--user=root",
            "--auth-root-authentication-method=normal",
        )
        words = ["mariadbd", "--no-defaults", data, "--user=root", f"--socket={self.folder}/db.socket"]
        (self.folder / "init.sql").write_text(
            "CREATE USER slurm@127.0.0.1 IDENTIFIED BY 'slurm';\nGRANT ALL ON *.* TO slurm@127.0.0.1;\n"
        )
        small = [
            "--skip-name-resolve",
            f"--init-file={self.folder}/init.sql",
            "--innodb-buffer-pool-size=32M",
            "--innodb-flush-log-at-trx-commit=0",
        ]
        self.start("mariadbd", *words, "--bind-address=127.0.0.1", "--port=16820", *small)
        until((self.folder / "db.socket").exists, "MariaDB responds")


def run(*words):
    ended = subprocess.run(words, check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def remove_group(group):
    """Remove a control group and those below it, after the processes in it have ended."""
    for below in (each for each in group.iterdir() if each.is_dir()):
        remove_group(below)
    for pid in (group / "cgroup.procs").read_text().split():
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGKILL)
    until(lambda: not (group / "cgroup.procs").read_text(), "the control group is empty")
    group.rmdir()


@contextlib.contextmanager
def cluster(**options):
    """A running cluster."""
    for program, package in PROGRAMS.items():
        needed(program, package)
    if os.geteuid():
        pytest.skip("needs the right to create network namespaces")
    folder = Path(tempfile.mkdtemp(prefix="slurm-", dir="/tmp"))
    folder.chmod(0o755)
    made = Cluster(folder, **options)
    try:
        made.up()
        yield made
    finally:
        made.down()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def slurm():
    with cluster() as made, pytest.MonkeyPatch.context() as patch:
        for name, value in made.environment.items():
            patch.setenv(name, value)
        yield made
