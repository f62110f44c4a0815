"""The environment variables of a benchmark that follow from its placement. The agent adds others at run time.

Variables of the descriptor cannot replace these.
"""

from collections.abc import Callable

from anubis.model.hardware import Strategy
from anubis.model.launch import Bundle, Role
from anubis.submission.bundle import LAUNCHER, MPI, SERVER, WORKER

#: Port of the launcher's rendezvous; PyTorch's default.
MASTER_PORT = 29500
#: (role, rank) -> host name of that replica for the others.
Address = Callable[[str, int], str]


def variables(
    bundle: Bundle,
    role: Role,
    rank: int,
    *,
    strategy: Strategy,
    address: Address,
    scripts: str,
    hostfile: str,
) -> dict[str, str]:
    """The variables of one replica. ``scripts`` and ``hostfile`` are paths inside the replica; empty: it has none."""
    number, size = _position(bundle, role, rank, strategy)
    values = {"ANUBIS_RANK": str(number), "ANUBIS_WORLD_SIZE": str(size)}
    if scripts:
        values["BAI_SCRIPTS_PATH"] = scripts
    if hostfile:  # Open MPI 4, Open MPI 5
        values["OMPI_MCA_orte_default_hostfile"] = values["PRTE_MCA_prte_default_hostfile"] = hostfile
    if role.name != SERVER:
        for server in bundle.roles:
            if server.name == SERVER:
                values |= _server(server, address)
    if role.name in (LAUNCHER, WORKER) and strategy not in MPI:
        values |= {"MASTER_ADDR": address(LAUNCHER, 0), "MASTER_PORT": str(MASTER_PORT)}
        if strategy is Strategy.TORCHRUN:
            values |= _torchrun(values, role)
    return values


def hosts(bundle: Bundle, role: Role, *, strategy: Strategy, address: Address) -> str:
    """The host file of an MPI launcher (``host slots=processes``, one line per worker); empty for other roles."""
    if role.name != LAUNCHER or strategy not in MPI:
        return ""
    workers = [each for each in bundle.roles if each.name == WORKER]
    return "".join(
        f"{address(WORKER, rank)} slots={worker.processes}\n"
        for worker in workers
        for rank in range(worker.replicas)
    )


def _position(bundle: Bundle, role: Role, rank: int, strategy: Strategy) -> tuple[int, int]:
    """Rank and world size: within the role, or of launcher and workers together where all run the same command."""
    if role.name not in (LAUNCHER, WORKER) or strategy in MPI:
        return rank, role.replicas
    size = sum(each.replicas for each in bundle.roles if each.name in (LAUNCHER, WORKER))
    return (rank + 1 if role.name == WORKER else 0), size


def _server(server: Role, address: Address) -> dict[str, str]:
    """The address of the server, in the variables of the old system."""
    ports = {
        f"INFERENCE_SERVER_PORT{f'_{number}' if number else ''}": str(port)
        for number, port in enumerate(server.ports)
    }
    return {"INFERENCE_SERVER_HOST": address(SERVER, 0), **ports}


def _torchrun(values: dict[str, str], role: Role) -> dict[str, str]:
    """Defaults of torchrun's options (torch.distributed.argparse_util: ``PET_`` and the option's name)."""
    return {
        "PET_NNODES": values["ANUBIS_WORLD_SIZE"],
        "PET_NODE_RANK": values["ANUBIS_RANK"],
        "PET_NPROC_PER_NODE": str(role.processes),
        "PET_MASTER_ADDR": values["MASTER_ADDR"],
        "PET_MASTER_PORT": values["MASTER_PORT"],
    }
