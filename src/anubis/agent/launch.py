"""The agent's one entry: ``exec`` weighs a command, ``extract`` reads a record's output again, ``sample`` watches
the machine. Every verb imports only what it needs: a null run pays for one interpreter and little else. That is why the
modules on the way of ``exec`` import ``posix`` where others import ``os``, which takes 1.2 ms of a null run's 12.
"""

from __future__ import annotations

import posix
import sys

USAGE = """usage: anubis-agent exec --record DIR [--repeats N] [--warmups N] [--timeout-s S] [--grace-s S] [--cwd DIR]
                         [--run-id ID] [--patterns FILE] [--seed N] -- COMMAND ARG...
       anubis-agent extract --record DIR [--patterns FILE] [--fresh]
       anubis-agent sample --record DIR
"""


def main() -> None:
    """Run one verb of ``sys.argv`` and leave the process with its exit code; 2 is a wrong command line."""
    code = _main(sys.argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    posix._exit(
        code
    )  # nothing is left to tidy, and the interpreter's own farewell costs a null run half a millisecond


def _main(words: list[str]) -> int:
    from anubis.agent.options import Options, WrongOptionsError

    verb = words[0] if words else ""
    try:
        options = Options(words[1:])
    except WrongOptionsError as error:
        sys.stderr.write(f"anubis-agent: {error}\n{USAGE}")
        return 2
    if verb == "exec" and options.command:
        from anubis.agent.session import run
    elif verb == "extract":
        from anubis.agent.extract import run
    elif verb == "sample":
        from anubis.agent.sampler import run
    else:
        sys.stderr.write(USAGE)
        return 2
    return run(options)
