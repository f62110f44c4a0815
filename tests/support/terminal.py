"""A pseudo-terminal in which a command runs, as a person sees it."""

import fcntl
import os
import pty
import re
import struct
import termios

ESCAPE = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]")


class Terminal:
    """What a command writes on a terminal of a given width."""

    def __init__(self, anubis, *words, columns, variables=()):
        self._main, other = pty.openpty()
        fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        environment = {**anubis.environment(), "TERM": "xterm-256color", **dict(variables)}
        del environment["COLUMNS"]
        self.process = anubis.start(
            *words, stdin=other, stdout=other, stderr=other, env=environment, start_new_session=True
        )
        os.close(other)
        self.seen = b""

    def read_until(self, text):
        """Read until this text has appeared; all that was written so far."""
        while text not in self.seen:
            assert self._read(), f"{text!r} never appeared in {self.seen!r}"
        return self.seen

    def read_all(self):
        """Read until the command has ended; all that was written."""
        while self._read():
            pass
        os.close(self._main)
        self.process.wait()
        return self.seen

    def _read(self):
        try:
            data = os.read(self._main, 65536)
        except OSError:  # Linux reports the end of a terminal as an error
            return False
        self.seen += data
        return bool(data)


def lines_of(seen):
    """The visible lines, without colours and movements of the cursor."""
    return [line.decode() for line in re.split(rb"[\r\n]+", ESCAPE.sub(b"", seen))]
