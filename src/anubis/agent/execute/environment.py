"""The command line of the benchmark and its environment."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from anubis.agent.options import Options

#: Defaults in the environment of the benchmark; descriptor and engine override them.
_DEFAULTS = {
    "BENCHMARK_AI": "fifo",
    "BENCHMARK_AI_FIFO_MAX_WAIT_TIME": "60",
    "ANUBIS_RANK": "0",
    "ANUBIS_WORLD_SIZE": "1",
}


def environment_of(options: Options, fifo: str, repeat: int) -> dict[str, str]:
    """The engine's environment plus the variables of the agent; a given BENCHMARK_AI overrides the default."""
    ours = {
        "BENCHMARK_AI_FIFO_FILEPATH": fifo,
        "ANUBIS_RECORD": options.record,
        "ANUBIS_RUN_ID": options.run_id,
        "ANUBIS_REPEAT": str(repeat),
        "ANUBIS_SEED": str(options.seed),
    }
    if options.gpus:
        ours["CUDA_VISIBLE_DEVICES"] = "" if options.gpus == "none" else options.gpus
    coding = sys.getfilesystemencoding()
    given = {
        name.decode(coding, "surrogateescape"): value.decode(coding, "surrogateescape")
        for name, value in os.environb.items()
    }
    return {**_DEFAULTS, **given, **ours}


def command_of(options: Options, environment: dict[str, str]) -> list[str]:
    """The command with its variables replaced."""
    words = options.command
    if not any("$" in word for word in words):
        return words
    from anubis.agent.execute.variables import expand

    masked = options.masked.split()  # a command line is visible to every user of the machine
    return expand(words, {name: value for name, value in environment.items() if name not in masked})
