"""Shell scripts of a run: what a node executes to set up the environment and start the agent."""

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from anubis.model.launch import Mount, Replica
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
_LINK = """mkdir -p {parent} 2>/dev/null
ln -sT {source} {target} 2>/dev/null
[ "$(readlink {target})" = {source} ] || fail data "$(hostname): the data cannot be put at" {target}
"""
_MODULES = """command -v module >/dev/null 2>&1 || for file in /etc/profile.d/lmod.sh /etc/profile.d/z00_lmod.sh \\
  /etc/profile.d/modules.sh /usr/share/modules/init/sh; do [ -r "$file" ] && . "$file" && break; done
"""


def element(replica: Replica, folder: str, *, modules: Sequence[str] = (), setup: str = "") -> bytes:
    """The script of an attempt. ``folder`` will contain it."""
    begin = _BEGIN.format(
        folder=shlex.quote(folder),
        started=STARTED,
        failed=FAILED,
        code=FAILED_CODE,
        log=shlex.quote(f"{replica.record}/{layout.AGENT_LOG}"),
    )
    start = f"exec {shlex.join(replica.argv)}\n"
    return os.fsencode(begin + _links(replica.mounts) + _exports(replica) + _setup(modules, setup) + start)


def _exports(replica: Replica) -> str:
    """The environment of the benchmark. Names that a shell cannot export, such as those of functions, are left out."""
    given: Mapping[str, str] = replica.role.environment
    return "".join(
        f"export {name}={shlex.quote(value)}\n"
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
