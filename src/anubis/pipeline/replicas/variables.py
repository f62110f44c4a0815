"""The environment variables of a benchmark that follow from its placement. The agent adds others at run time.

Variables of the descriptor cannot replace these.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass

from anubis.model.hardware import Strategy
from anubis.model.launch import Bundle, Role
from anubis.record import layout
from anubis.record.layout import BENCHMARK
from anubis.submission.bundle import MPI, SERVER, WORKER

#: Port of the rendezvous; PyTorch's default.
MASTER_PORT = 29500
_LOOPBACK = "127.0.0.0/8"


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """How the replicas of one run reach one another."""

    #: (role, rank) -> host name of that replica for the others.
    address: Callable[[str, int], str]
    #: First of the ports of the run on machines that it shares with other runs; 0: they are only for this run.
    first_port: int = 0
    #: All replicas are on this machine.
    one_machine: bool = False
    #: A resource manager gives the launcher of MPI its hosts.
    hosts_assigned: bool = False

    def port(self, index: int) -> int:
        """The port of the replica with this index, of which the benchmark makes use."""
        return self.first_port + index if self.first_port else MASTER_PORT


def variables(
    bundle: Bundle, role: Role, rank: int, *, strategy: Strategy, network: Network
) -> dict[str, str]:
    """The variables of one replica."""
    values = {"ANUBIS_ROLE": role.name, "ANUBIS_RANK": str(rank), "ANUBIS_WORLD_SIZE": str(role.replicas)}
    servers = [each for each in bundle.roles if each.name == SERVER]
    if strategy is Strategy.INFERENCE and role.name != SERVER:
        for server in servers:
            values |= _server(server, network)
    if strategy is Strategy.PARAMETER_SERVER:
        values |= _parameter_server(bundle, role, rank, network)
    if strategy is Strategy.TORCHRUN:
        values |= _torchrun(role, rank, network)
    return values


def mpi(record: str, *, path: str | None, network: Network) -> dict[str, str]:
    """The variables of the launcher of MPI with this record, for Open MPI 4 and 5.

    Where the machines share their file system, ``mpirun`` starts each rank with the program ``RANK_AGENT``. It looks for the
    program in PATH, because the path of a record may have spaces. ``path``: PATH without it; None: the image sets PATH,
    and the program is named by its path. On one machine ``mpirun`` uses the loopback network only, and Open MPI 4 needs no
    ssh if it is isolated.
    """
    hostfile = "" if network.hosts_assigned else f"{record}/{layout.HOSTS}"
    names = ("OMPI_MCA_orte_default_hostfile", "PRTE_MCA_prte_default_hostfile")
    values = dict.fromkeys(names, hostfile) if hostfile else {}
    if not network.one_machine and not network.hosts_assigned:
        return values
    values |= {"MASTER_ADDR": network.address(BENCHMARK, 0), "MASTER_PORT": str(network.port(0))}
    programs = f"{record}/{layout.PROGRAMS}"
    agent = RANK_AGENT if path is not None else f"{programs}/{RANK_AGENT}"
    values |= {"OMPI_MCA_orte_fork_agent": agent, "PRTE_MCA_prte_fork_agent": agent}
    if network.one_machine:
        networks = ("OMPI_MCA_oob_tcp_if_include", "OMPI_MCA_btl_tcp_if_include", "PRTE_MCA_prte_if_include")
        values |= {"OMPI_MCA_plm": "isolated", **dict.fromkeys(networks, _LOOPBACK)}
    return values if path is None else {**values, "PATH": f"{programs}:{path}"}


#: The program that starts the agent of a rank.
RANK_AGENT = "anubis-rank"


def hosts(bundle: Bundle, *, network: Network) -> str:
    """The host file of a launcher of MPI: ``host slots=processes``, one line for each host."""
    (worker,) = (each for each in bundle.roles if each.name == WORKER)
    if network.one_machine:
        return f"localhost slots={worker.processes * worker.replicas}\n"
    return "".join(
        f"{network.address(WORKER, rank)} slots={worker.processes}\n" for rank in range(worker.replicas)
    )


def is_launcher(role: Role, strategy: Strategy) -> bool:
    """Whether the role starts the ranks of MPI."""
    return strategy in MPI and role.name == BENCHMARK


def _server(server: Role, network: Network) -> dict[str, str]:
    """The address of the server, in the variables of the old system."""
    ports = {
        f"INFERENCE_SERVER_PORT{f'_{number}' if number else ''}": str(port)
        for number, port in enumerate(server.ports)
    }
    return {"INFERENCE_SERVER_HOST": network.address(SERVER, 0), **ports}


def _parameter_server(bundle: Bundle, role: Role, rank: int, network: Network) -> dict[str, str]:
    """The addresses of servers and workers, the first ones by themselves and all in ``TF_CONFIG`` (TensorFlow)."""
    cluster: dict[str, list[str]] = {}
    index = 0
    for each in bundle.roles:
        cluster[_KINDS[each.name]] = addresses = []
        for number in range(each.replicas):
            port = each.ports[0] if each.ports else network.port(index)
            addresses.append(f"{network.address(each.name, number)}:{port}")
            index += 1
    host, _, port_text = cluster["ps"][0].rpartition(":")
    return {
        "PARAMETER_SERVER_HOST": host,
        "PARAMETER_SERVER_PORT": port_text,
        "TF_CONFIG": json.dumps({"cluster": cluster, "task": {"type": _KINDS[role.name], "index": rank}}),
    }


#: Roles as TensorFlow calls them.
_KINDS = {SERVER: "ps", BENCHMARK: "worker"}


def _torchrun(role: Role, rank: int, network: Network) -> dict[str, str]:
    """The rendezvous: for ``torchrun`` its options (torch.distributed.argparse_util: ``PET_`` and the option's name), and
    for programs that need no launcher, because they are one process in each replica, the variables that it sets.
    """
    host, port = network.address(role.name, 0), str(network.port(0))
    values = {
        "MASTER_ADDR": host,
        "MASTER_PORT": port,
        "PET_NNODES": str(role.replicas),
        "PET_NODE_RANK": str(rank),
        "PET_NPROC_PER_NODE": str(role.processes),
        "PET_MASTER_ADDR": host,
        "PET_MASTER_PORT": port,
    }
    if role.processes == 1:
        values |= {"RANK": str(rank), "WORLD_SIZE": str(role.replicas)}
        values |= {"LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1"}
    return values
