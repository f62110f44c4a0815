"""One run, weighed to its end through ``anubis run``, and how it ended."""

import sys

from anubis.model.cause import Cause
from support.gated import client_of, stored
from support.processes import left_in, until


class Weighed:
    """One run, weighed to its end in the foreground."""

    def __init__(self, anubis, program, *words, more="", python=True, **options):
        if python:
            (anubis.folder / "program.py").write_text(program)
            program = f"{sys.executable} program.py"
        self.anubis = anubis
        self.ended = anubis("run", anubis.write("bad.toml", program, more=more), *words, **options)
        (self.row,) = stored(anubis.home)
        with client_of(anubis.home) as client:
            self.run = client.runs.get(self.row.id)
            self.folder = client.records.folder_of(self.run)
        assert "Traceback" not in self.ended.stderr
        until(lambda: not left_in(anubis.home), "every process of the run is gone")

    def bytes(self, name="stdout"):
        return (self.folder / name).read_bytes()

    def fails(self, cause, *words):
        """It failed for this cause, and the command said so with a remedy."""
        assert (self.row.status, self.row.cause) == ("failed", cause), self.ended.stdout
        assert self.ended.returncode == 1
        assert Cause(cause).remedy in self.ended.stdout
        for word in words:
            assert word in self.ended.stdout
        return self

    def succeeds(self):
        assert (self.row.status, self.row.cause) == ("succeeded", None), self.ended.stdout
        assert self.ended.returncode == 0
        return self
