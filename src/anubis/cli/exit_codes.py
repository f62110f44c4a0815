"""Exit statuses, as shown by ``anubis --help`` and in the reference."""

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
    OK: "success",
    FAILED: "a benchmark failed, or the command could not be completed",
    BAD_INPUT: "invalid input, an unknown name or id, or a store that cannot be written or is damaged; nothing was stored",
    REGRESSION: "the contender is worse than the baseline, or crosses a threshold of its descriptor",
    UNDECIDED: "the runs are not sufficient to decide whether the contender is worse",
    CANCELLED: "a run was cancelled",
    DEFECT: "a defect in Anubis: the message names the file with the traceback",
    INTERRUPTED: "interrupted (Ctrl-C)",
    BROKEN_PIPE: "the reader of the output closed the pipe",
}
