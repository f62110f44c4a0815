"""Other detectors, installed in separate environments and called through one process each."""

import json
import subprocess
import sys
import venv
from pathlib import Path

NAMES = ("otava", "asv", "mongodb", "ruptures")
#: Peers that are also run again after every new point; the others take too long for as many series as ours.
ONLINE = ("otava", "ruptures")
WORKER = Path(__file__).with_name("peer_worker.py")
#: MongoDB's package asks for an older numpy than Otava and works with the newer one, so numpy comes last.
INSTALLS = (("signal-processing-algorithms",), ("apache-otava", "asv", "ruptures"), ("numpy==2.2.*",))


class Peers:
    def __init__(self, folder: Path | None) -> None:
        self._python = None if folder is None else _environment(folder.absolute() / "detection")
        #: name -> why it takes no part.
        self.absent: dict[str, str] = {}
        #: name -> version of those that answered.
        self.versions: dict[str, str] = {}

    def ask(self, name: str, mode: str, series: list[list[float]]) -> dict | None:
        """The worker's answer, or None where the peer is not installed."""
        if self._python is None:
            self.absent[name] = "no --peers-venv was given"
        if name in self.absent:
            return None
        done = subprocess.run(
            [self._python, WORKER],
            input=json.dumps({"peer": name, "mode": mode, "series": series}),
            capture_output=True,
            text=True,
            check=False,
        )
        answer = json.loads(done.stdout) if done.returncode == 0 else {"absent": done.stderr[-200:]}
        if "absent" in answer:
            self.absent[name] = answer["absent"]
            return None
        self.versions[name] = answer["version"]
        return answer


def _environment(folder: Path) -> Path:
    python = folder / "bin" / "python"
    if not python.exists():
        print(f"installing the peers into {folder}", file=sys.stderr)
        venv.create(folder, with_pip=True)
        for packages in INSTALLS:
            subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=False)
    return python
