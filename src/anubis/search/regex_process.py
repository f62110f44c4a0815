"""Program that applies a regular expression to lines, in a process of its own: ``python -I -S``, standard library only.

A pattern can take exponential time, and Python cannot interrupt it. Here it is ended by a signal of the kernel after a
limit of CPU time for each piece, whatever the load of the machine is.

Standard input: the request (JSON, one line), then pieces, each a decimal length, a line end and its bytes. Standard output:
one line of JSON for the request, then one for each piece.
"""

from __future__ import annotations

import json
import re
import resource
import signal
import sys
import warnings

from anubis.agent.extract.patterns import required_literal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

#: Most memory of the process, bytes, and most CPU time of all pieces, seconds.
MOST_MEMORY, MOST_CPU_S = 2 << 30, 120
#: Most highlights of one line.
MOST_HIGHLIGHTS = 100
_SURROGATES = re.compile("[\udc80-\udcff]")


def decoded(line: bytes) -> str:
    """The text of a line; each byte that is not UTF-8 is one replacement character."""
    text = line.decode("utf-8", "surrogateescape")
    return text if text.isascii() else _SURROGATES.sub("\ufffd", text)


def lines_with(data: bytes, literal: bytes | None, *, ignore_case: bool) -> Iterator[tuple[int, int]]:
    """Start and end of every line, without its end, that contains the literal (None: of every line)."""
    at, size = 0, len(data)
    looked, wanted = (data, literal) if not ignore_case else (data.lower(), literal and literal.lower())
    while at < size:
        hit = at if wanted is None else looked.find(wanted, at)
        if hit < 0:
            return
        start = data.rfind(b"\n", at, hit) + 1 or at
        end = data.find(b"\n", hit)
        end = size if end < 0 else end
        yield start, end - data.endswith(b"\r", start, end)
        at = end + 1


def _answer(regex: re.Pattern[str], literal: bytes | None, data: bytes, *, ignore_case: bool) -> list[Any]:
    found = []
    for start, end in lines_with(data, literal, ignore_case=ignore_case):
        spans = []
        for match in regex.finditer(decoded(data[start:end])):
            spans.append(match.span())
            if len(spans) >= MOST_HIGHLIGHTS:
                break
        if spans:
            found.append((start, end, spans))
    return found


def main() -> None:
    """Answer until standard input ends."""
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_CPU_S, MOST_CPU_S))
    warnings.simplefilter("ignore")
    given, out = sys.stdin.buffer, sys.stdout.buffer

    def tell(answer: Any) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)
        out.write(json.dumps(answer).encode() + b"\n")
        out.flush()

    asked = json.loads(given.readline())
    flags = re.IGNORECASE | re.ASCII if asked["ignore_case"] else 0
    signal.setitimer(signal.ITIMER_PROF, asked["limit_s"])
    try:
        regex = re.compile(asked["pattern"], flags)
        literal = required_literal(re.compile(asked["pattern"], flags & ~re.IGNORECASE))
    except (re.error, RecursionError, OverflowError, MemoryError) as error:
        tell({"error": str(error) or type(error).__name__})
        return
    tell({"literal": literal.decode() if literal else None})
    while length := given.readline():
        data = given.read(int(length))
        signal.setitimer(signal.ITIMER_PROF, asked["limit_s"])
        tell(_answer(regex, literal, data, ignore_case=asked["ignore_case"]))


if __name__ == "__main__":
    main()
