"""The files of Open MPI on this machine, for an image that needs no registry."""

import re
import shutil
import subprocess
from pathlib import Path

#: Folders that Open MPI has on Debian, in addition to its program and libraries.
FOLDERS = (
    "/etc/openmpi",
    "/usr/share/openmpi",
    "/usr/lib/x86_64-linux-gnu/openmpi",
    "/usr/lib/x86_64-linux-gnu/pmix2/lib/pmix",
)


def files():
    """``mpirun``, its plug-ins, and every library that they need."""
    program = shutil.which("mpirun")
    assert program, "install openmpi-bin"
    folders = [folder for folder in FOLDERS if Path(folder).is_dir()]
    plug_ins = [path for folder in folders for path in Path(folder).rglob("*.so")]
    listed = subprocess.run(["ldd", program, *plug_ins], check=True, capture_output=True, text=True).stdout
    libraries = set(re.findall(r"(/\S+) \(0x", listed))
    return [program, *folders, *sorted(libraries)]
