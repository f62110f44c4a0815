"""What the command's exit status says: the one list, shown by ``anubis --help`` and in the reference."""

OK = 0
FAILED = 1
BAD_INPUT = 2
REGRESSION = 3
UNDECIDED = 4
CANCELLED = 5
DEFECT = 70
INTERRUPTED = 130
BROKEN_PIPE = 141

MEANINGS = {
    OK: "fine",
    FAILED: "a benchmark failed, or what was asked for could not be done",
    BAD_INPUT: "bad input, or nothing answers to that name; nothing was stored",
    REGRESSION: "the contender is worse than the baseline",
    UNDECIDED: "these runs cannot tell whether the contender is worse",
    CANCELLED: "a run was cancelled",
    DEFECT: "a defect of Anubis: the message says where its traceback lies",
    INTERRUPTED: "interrupted (Ctrl-C)",
    BROKEN_PIPE: "whoever read the output stopped reading",
}
