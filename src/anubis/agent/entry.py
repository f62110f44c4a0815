"""Entry point of the agent: ``exec`` measures a command, ``extract`` reads samples from a record's output, ``sample``
records telemetry of the machine, ``ship`` replicates the record, ``probe`` checks a server. Each verb imports only the modules it needs, because
every run includes the start of one interpreter.
"""

from __future__ import annotations

import gc
import os
import sys

from anubis.agent.options import Options, WrongOptionsError

USAGE = """usage: anubis-agent exec --record DIR [--repeats N] [--warmups N] [--timeout-s S] [--grace-s S] [--cwd DIR]
                         [--run-id ID] [--patterns FILE] [--seed N] [--ship URL] [--ship-token FILE]
                         [--options FILE] -- COMMAND ARG...
       anubis-agent extract --record DIR [--patterns FILE] [--fresh]
       anubis-agent sample --record DIR
       anubis-agent ship --record DIR --ship URL [--ship-token FILE]

--options FILE reads a JSON object of the same options: {"record": "DIR", "timeout_s": 60}
"""


def main() -> None:
    """Run the verb of ``sys.argv`` and exit with its exit code; 2: the command line is wrong."""
    code = _main(sys.argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(
        code
    )  # needs no cleanup, and the interpreter's shutdown would add half a millisecond to a null run


def _main(words: list[str]) -> int:
    verb = words[0] if words else ""
    try:
        options = Options(words[1:])
    except WrongOptionsError as error:
        sys.stderr.write(f"anubis-agent: {error}\n{USAGE}")
        return 2
    if verb == "exec" and options.command:
        from anubis.agent.session import run
    elif verb == "extract":
        from anubis.agent.extract.extraction import run
    elif verb == "ship" and options.ship:
        from anubis.agent.ship import run
    elif verb == "probe" and options.group:
        from anubis.agent.probe import run
    elif verb == "sample":
        from anubis.agent.observe.sampler import run
    else:
        sys.stderr.write(USAGE)
        return 2
    gc.enable()  # the command that starts an agent may disable it during the imports
    return run(options)
