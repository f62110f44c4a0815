"""Shell scripts of a run: what its nodes execute to set up the environment and start the agents.

A run of one replica is one script. One of several replicas has a script for each of them, which ``srun`` starts on its own
node: Slurm ends all of them when one ends without a result.
"""

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from anubis.model.launch import Launch, Mount, Replica
from anubis.record import layout

#: Written by an element when it starts: its id. A second element for the same attempt, or the same one after Slurm has
#: started it again, finds the file and ends.
STARTED = "started"
#: Written by an element that cannot start the agent: a cause and a message.
FAILED = "failed"
#: Exit code of such an element.
FAILED_CODE = 70
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
#: Variables that Slurm sets for an element; those of the submitter describe another one.
_OF_SLURM = re.compile(
    r"(SLURM|SBATCH|SRUN|SALLOC|PMI|PMIX)_\w*|(CUDA|ROCR)_VISIBLE_DEVICES|PPID|E?UID|(BASH|SHELL)OPTS"
)

#: The script of an array, which starts that of its element.
ARRAY = """#!/bin/sh
script=$(sed -n "$((SLURM_ARRAY_TASK_ID + 1))p" {elements}) && [ -r "$script" ] || {{
  echo "$(hostname) cannot read {folder}: ANUBIS_HOME must be on a file system that all nodes share"
  exit {code}
}}
exec sh "$script"
"""
_BEGIN = """#!/bin/sh
umask 077
set -C
{{ echo "${{SLURM_ARRAY_JOB_ID}}_$SLURM_ARRAY_TASK_ID" > {folder}/{started}; }} 2>/dev/null || exit 0
set +C
exec >> {log} 2>&1
fail() {{ echo "$*"; echo "$*" > {folder}/{failed}; exit {code}; }}
cd {folder} || fail internal "cannot enter {folder}"
"""
#: Host name of a replica before its node is known; the scripts replace it.
ADDRESS = "{run}.{attempt}.{role}.{rank}.slurm-node"
_ON_NODE = """#!/bin/sh
umask 077
exec >> {log} 2>&1
fail() {{ echo "$*"; echo "$*" > {folder}/{failed}; exit {code}; }}
cd {folder} || fail internal "cannot enter {folder}"
"""
#: Of one of several replicas. Slurm sends signals only to this shell, which passes them on. A failure ends the agents of the others, and the step once they have written their results.
_OF_REPLICA = """#!/bin/sh
umask 077
exec >> {log} 2>&1
agent= stopped=
trap 'stopped=yes; [ -z "$agent" ] || kill -TERM $agent' TERM
others_have_ended() {{ for exit in {others}; do [ -e "$exit" ] || return 1; done; }}
end_others() {{
  scancel --signal=TERM "$SLURM_JOB_ID.$SLURM_STEP_ID"
  for second in {seconds}; do others_have_ended && break; sleep 1; done
  exit {code}
}}
fail() {{ echo "$*"; [ -e {folder}/{failed} ] || echo "$*" > {folder}/{failed}; end_others; }}
cd {folder} || fail internal "cannot enter {folder}"
"""
#: How long the other agents may need to end, seconds.
_PATIENCE_S = 20
#: The nodes of the run, in the order of its replicas.
_NODES = """set -- $(scontrol show hostnames "$SLURM_JOB_NODELIST")
[ $# -eq {count} ] || fail internal "scontrol names $# nodes instead of {count}"
for node; do number=$((number + 1)); export "ANUBIS_NODE_$number=$node"; done
"""
#: Starts one process on each node. Slurm ends all of them when one fails. If ``srun`` got the signal that ends the agents, it
#: would kill them before they have written their results.
_ON_NODES = (
    "setsid srun --nodes={count} --ntasks={count} --ntasks-per-node=1 --distribution=block --kill-on-bad-exit=1 --wait=0 "
    "--mpi=none --cpu-bind=none --export=ALL --input=none "
    "${{SLURM_CPUS_PER_TASK:+--cpus-per-task=$SLURM_CPUS_PER_TASK}}"
)
#: Ends with the exit code of the agent if its result is that of the run, else with 0 if it has a result: the agents of the
#: others see it, and end their benchmarks themselves. In braces, because this file may be removed while the agent runs.
_AGENT = """{{
[ -z "$stopped" ] || end_others
{argv} &
agent=$!
wait $agent
code=$?
while kill -0 $agent 2>/dev/null; do wait $agent; code=$?; done
[ -e {exit} ] && exit {result}
[ $code -eq 0 ] && end_others
[ -e {alive} ] && fail lost "The agent of {name} vanished without writing its result."
fail lost "The agent of {name} did not start on $(hostname)."
}}
"""
_LINK = """mkdir -p {parent} 2>/dev/null
ln -sT {source} {target} 2>/dev/null
[ "$(readlink {target})" = {source} ] || fail data "$(hostname): the data cannot be put at" {target}
"""
_MODULES = """command -v module >/dev/null 2>&1 || for file in /etc/profile.d/lmod.sh /etc/profile.d/z00_lmod.sh \\
  /etc/profile.d/modules.sh /usr/share/modules/init/sh; do [ -r "$file" ] && . "$file" && break; done
"""


#: The script of an attempt, and the prefix of those of its replicas.
ELEMENT, RANK = "script", "replica-"
#: A script that puts the data of a launcher on each of its nodes.
_DATA = "data"


def scripts(launch: Launch, folder: str, *, modules: Sequence[str] = (), setup: str = "") -> dict[str, bytes]:
    """The scripts of an attempt: name -> content. ``folder`` will contain them."""
    measured, count = launch.measured, nodes_of(launch)
    addresses = [replica.address for replica in launch.replicas if replica.address]
    begin = _begin(_BEGIN, measured, folder)
    if count > 1 or any(address in text for address in addresses for text in measured.environment.values()):
        begin += _NODES.format(count=count)
    prepared = _setup(modules, setup)
    if len(launch.replicas) == 1:
        links = _links(measured.mounts)
        made = {}
        if links and count > 1:
            made[_DATA] = _begin(_ON_NODE, measured, folder) + links
            links = f"{_ON_NODES.format(count=count)} sh {shlex.quote(f'{folder}/{_DATA}')} || exit {FAILED_CODE}\n"
        exports = _exports(measured, addresses)
        made[ELEMENT] = begin + links + exports + prepared + f"exec {shlex.join(measured.argv)}\n"
        return {name: os.fsencode(text) for name, text in made.items()}
    made = {
        f"{RANK}{number}": _begin(_OF_REPLICA, replica, folder, others=_results(launch, replica))
        + _links(replica.mounts)
        + _exports(replica, addresses)
        + prepared
        + _agent(replica, is_measured=replica is measured)
        for number, replica in enumerate(launch.replicas)
    }
    start = f"""trap : TERM\n{_ON_NODES.format(count=count)} sh -c 'exec sh "$0$SLURM_PROCID"' """
    made[ELEMENT] = f"{begin}{start}{shlex.quote(f'{folder}/{RANK}')}\n"
    return {name: os.fsencode(text) for name, text in made.items()}


def nodes_of(launch: Launch) -> int:
    """The number of nodes that a run needs: one for each replica."""
    return launch.launched.replicas if launch.launched else len(launch.replicas)


def _results(launch: Launch, replica: Replica) -> str:
    """The files with the results of the other replicas."""
    return shlex.join(f"{each.record}/{layout.EXIT}" for each in launch.replicas if each is not replica)


def _begin(template: str, replica: Replica, folder: str, others: str = "") -> str:
    return template.format(
        others=others,
        seconds=" ".join(map(str, range(_PATIENCE_S))),
        folder=shlex.quote(folder),
        started=STARTED,
        failed=FAILED,
        code=FAILED_CODE,
        log=shlex.quote(f"{replica.record}/{layout.AGENT_LOG}"),
    )


def _agent(replica: Replica, *, is_measured: bool) -> str:
    return _AGENT.format(
        argv=shlex.join(replica.argv),
        exit=shlex.quote(f"{replica.record}/{layout.EXIT}"),
        alive=shlex.quote(f"{replica.record}/{layout.ALIVE}"),
        name=f"{replica.role.name} {replica.rank}",
        result="$code" if is_measured else "0",
    )


def _value(text: str, addresses: Sequence[str]) -> str:
    """A value for a shell; host names that are known only on the nodes are replaced there."""
    if not any(address in text for address in addresses):
        return shlex.quote(text)
    parts = re.split("|".join(f"({re.escape(address)})" for address in addresses), text)
    numbers = {address: number for number, address in enumerate(addresses, 1)}
    words = (
        f'"$ANUBIS_NODE_{numbers[part]}"' if part in numbers else shlex.quote(part) for part in parts if part
    )
    return "".join(words)


def _exports(replica: Replica, addresses: Sequence[str]) -> str:
    """The environment of the benchmark. Names that a shell cannot export, such as those of functions, are left out."""
    given: Mapping[str, str] = replica.role.environment
    return "".join(
        f"export {name}={_value(value, addresses)}\n"
        for name, value in replica.environment.items()
        if _NAME.fullmatch(name) and (name in given or not _OF_SLURM.fullmatch(name))
    )


def _links(mounts: Sequence[Mount]) -> str:
    return "".join(
        _LINK.format(
            parent=shlex.quote(str(Path(mount.target).parent)),
            source=shlex.quote(mount.source or ""),
            target=shlex.quote(mount.target),
        )
        for mount in mounts
    )


def _setup(modules: Sequence[str], setup: str) -> str:
    loads = "".join(
        f"module load {shlex.quote(name)} || fail user_error 'module load failed:' {shlex.quote(name)}\n"
        for name in modules
    )
    lines = f"{{\n{setup}\n}} || fail user_error 'the set-up lines failed'\n" if setup else ""
    return (_MODULES if modules else "") + loads + lines


def of_array(elements: str, folder: str) -> str:
    """The script of an array, whose elements have their scripts in the lines of a file."""
    return ARRAY.format(elements=shlex.quote(elements), folder=shlex.quote(folder), code=FAILED_CODE)
