"""Groups of environment variables: secrets, variables that decide what is measured, variables of a session."""

import re
from collections.abc import Callable, Sequence
from fnmatch import translate

#: Variables with such a name are secrets, in upper or lower case: a benchmark inherits them only if it names them.
SECRETS = (
    "*TOKEN",
    "*SECRET*",
    "*PASSWORD*",
    "*PASSWD*",
    "*PASSPHRASE*",
    "*CREDENTIAL*",
    "*APIKEY*",
    "*_KEY",
    "*_KEY_ID",
    "*_PAT",
    "*_AUTH",
    "*_DSN",
    "*DATABASE_URL",
    "*CONNECTION_STRING",
    "*WEBHOOK*",
)
#: Settings of Anubis.
SETTINGS = ("ANUBIS_*", "_ANUBIS_*")
#: Variables that decide what is measured: the record keeps their values.
DECISIVE = (
    "PATH",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "CONDA_DEFAULT_ENV",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "DYLD_*",
    "PYTHON*",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "TZ",
    "OMP_*",
    "GOMP_*",
    "KMP_*",
    "MKL_*",
    "OPENBLAS_*",
    "BLIS_*",
    "VECLIB_*",
    "NUMEXPR_*",
    "NUMBA_*",
    "CUDA_*",
    "NVIDIA_*",
    "CUBLAS_*",
    "CUDNN_*",
    "NCCL_*",
    "HIP_*",
    "HSA_*",
    "ROCM_*",
    "ROCR_*",
    "XLA_*",
    "JAX_*",
    "TF_ENABLE_*",
    "TF_XLA_*",
    "TF_NUM_*",
    "TF_GPU_*",
    "TF_FORCE_*",
    "TF_CUDNN_*",
    "TF_DETERMINISTIC_*",
    "TORCH*",
    "PYTORCH_*",
    "MALLOC_*",
    "GLIBC_TUNABLES",
    "GOMAXPROCS",
    "GOGC",
    "RAYON_NUM_THREADS",
    "JAVA_HOME",
    "JAVA_TOOL_OPTIONS",
    "_JAVA_OPTIONS",
)
#: Variables that describe a terminal or a login session: a benchmark inherits them, the record does not mention them.
SESSION = (
    "_",
    "SHLVL",
    "PWD",
    "OLDPWD",
    "TERM",
    "TERM_*",
    "COLORTERM",
    "COLUMNS",
    "LINES",
    "PS1",
    "SSH_*",
    "XDG_SESSION_*",
    "XDG_VTNR",
    "DBUS_SESSION_BUS_ADDRESS",
    "WINDOWID",
    "DISPLAY",
    "INVOCATION_ID",
    "JOURNAL_STREAM",
)


def matcher(patterns: Sequence[str], *, ignore_case: bool = False) -> Callable[[str], bool]:
    """Whether a name matches one of these patterns, in which ``*`` matches any characters."""
    expression = re.compile("|".join(map(translate, patterns)), re.IGNORECASE if ignore_case else 0)
    return lambda name: expression.match(name) is not None


is_secret = matcher(SECRETS, ignore_case=True)
is_setting = matcher(SETTINGS)
is_session = matcher(SESSION)
_is_decisive = matcher(DECISIVE)


def is_decisive(name: str) -> bool:
    """Whether the variable decides what is measured and may be shown."""
    return _is_decisive(name) and not is_secret(name)


def reference() -> str:
    """The groups as a Markdown table."""
    groups = {
        "Secrets, in upper or lower case": SECRETS,
        "Settings of Anubis": SETTINGS,
        "Recorded with their values": DECISIVE,
        "Not recorded": SESSION,
    }
    rows = [f"| {title} | {', '.join(f'`{name}`' for name in names)} |" for title, names in groups.items()]
    return "\n".join(["| Group | Variables |", "|---|---|", *rows])
