"""Runs the installed commands as users do, in a separate process with a separate home."""

import json
import os
import subprocess
import sys
from pathlib import Path

BIN = Path(sys.executable).parent
#: Longer than any command here takes; a command that hangs must not hang the suite.
PATIENCE_S = 60


class Command:
    """Runs ``anubis`` in one home folder and one working folder."""

    def __init__(self, home, folder):
        self.home = home
        self.folder = folder
        self._started = []

    def __call__(self, *words, program="anubis", **options):
        options = {"capture_output": True, "text": True, "stdin": subprocess.DEVNULL, **options}
        return subprocess.run(
            [BIN / program, *map(str, words)],
            cwd=self.folder,
            env=self.environment(),
            timeout=PATIENCE_S,
            check=False,
            **options,
        )

    def environment(self):
        path = f"{BIN}{os.pathsep}{os.environ['PATH']}"
        return {**os.environ, "ANUBIS_HOME": str(self.home), "PATH": path, "TERM": "dumb", "COLUMNS": "100"}

    def start(self, *words, **options):
        """Start the command in the background; returns its process."""
        options = {
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
            "stdin": subprocess.DEVNULL,
            "env": self.environment(),
            **options,
        }
        process = subprocess.Popen([BIN / "anubis", *map(str, words)], cwd=self.folder, **options)
        self._started.append(process)
        return process

    def close(self):
        """End the processes that a failed test left running."""
        for process in self._started:
            if process.poll() is None:
                process.kill()
            process.wait()
            for stream in filter(None, (process.stdout, process.stderr)):
                stream.close()
        if any(not (path.parent / "exit.json").exists() for path in self.home.glob("records/*/a*/*/*/alive")):
            self("cancel", "--all")

    def json(self, *words, code=0):
        """What the command printed as JSON; it must have ended with ``code``."""
        ended = self(words[0], "--json", *words[1:]) if "--" in words else self(*words, "--json")
        assert ended.returncode == code, ended.stderr
        return json.loads(ended.stdout)

    def write(self, name, command, *, more=""):
        """A descriptor file in the working folder."""
        path = self.folder / name
        lines = [
            'spec_version = "1.0"',
            "[info]",
            f'name = "{Path(name).stem}"',
            "[hardware]",
            'instance_type = "local"',
            "[ml]",
            f"benchmark_code = {json.dumps(command)}",
            more,
        ]
        path.write_text("\n".join(lines))
        return path
