"""Texts of first descriptors: for a command, and a commented template."""

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from anubis.describe.examples import value_text
from anubis.model.errors import BadInputError
from anubis.model.labels import slug

#: Name of a benchmark whose command contains no usable name.
FALLBACK_NAME = "benchmark"
#: Programs that run scripts, by the suffix of the script.
INTERPRETERS = {
    ".jl": "julia",
    ".js": "node",
    ".pl": "perl",
    ".py": "python3",
    ".r": "Rscript",
    ".rb": "ruby",
    ".sh": "sh",
}
_EXAMPLE = ("sh", "-c", "echo accuracy=0.93")
_VARIABLE = re.compile(r"\$(?=[{(])")


@dataclass(frozen=True, slots=True, kw_only=True)
class DescriptorText:
    """A descriptor that is not in a file."""

    #: The text, in TOML.
    text: str
    #: Working folder of the benchmark.
    folder: Path
    #: Name in messages.
    name: str
    #: Commit as the descriptor names it -> the resolved commit and its position in a series (UTC seconds), where the
    #: submitter has read its git repository already; other commits are looked up in ``folder``.
    commits: Mapping[str, tuple[str, float | None]] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.name


def of_command(command: Sequence[str], folder: Path, *, repeats: int = 1) -> DescriptorText:
    """The smallest descriptor that measures a command. Raises BadInputError for text that is not UTF-8."""
    text = f"""\
spec_version = "1.0"

[info]
name = {value_text(name_of(command, folder))}

[hardware]
instance_type = "local"

[ml]
benchmark_code = {value_text(benchmark_code(command))}

[measure]
repeats = {repeats}
"""
    return DescriptorText(text=text, folder=folder, name=shlex.join(command))


def first(command: Sequence[str], folder: Path, *, commit: bool) -> str:
    """A commented descriptor to start with; without a command that of an example. ``commit``: folder is under git."""
    subject = "" if commit else "# "
    metric = "# " if command else ""
    return f"""\
# Check this file with "anubis validate", measure it with "anubis run". "anubis schema" describes every key.
spec_version = "1.0"

[info]
name = {value_text(name_of(command, folder) if command else FALLBACK_NAME)}
# description = "What is measured"
# labels = {{ team = "vision" }}

# The code under test, so that changes are found by commit.
[subject]
{subject}commit = "auto"

[hardware]
instance_type = "local"

# Runs in the folder of this file, without a shell: for pipes, write sh -c '...'.
[ml]
benchmark_code = {value_text(benchmark_code(command or _EXAMPLE))}

[measure]
repeats = 3
# warmups = 1
# timeout_s = 3600

# Wall time, processor time and peak memory are always measured. What the benchmark prints is read by a pattern:
{metric}[[output.metrics]]
{metric}name = "accuracy"
{metric}units = "none"
{metric}pattern = 'accuracy=([0-9.]+)'
{metric}better = "higher"
"""


def benchmark_code(command: Sequence[str]) -> str:
    """``ml.benchmark_code`` that executes exactly these words: variables in them are not replaced."""
    try:
        "".join(command).encode()
    except UnicodeEncodeError:
        raise BadInputError(
            "the command contains bytes that are not UTF-8",
            remedy="put it into a script, and measure the script",
        ) from None
    return shlex.join(_VARIABLE.sub("$$", word) for word in command)


def name_of(command: Sequence[str], folder: Path) -> str:
    """The name of a benchmark: of the first argument that is a file, else of the program."""
    program, *arguments = command
    file = next((word for word in arguments if word and (folder / word).is_file()), program)
    return slug(Path(file).stem) or FALLBACK_NAME


def script_command(script: Path, folder: Path) -> list[str]:
    """The command that runs a script from a folder. Raises BadInputError if it cannot be derived."""
    if not script.is_file():
        raise BadInputError(
            f"{script} is not a file", remedy="name a script, or give a command: anubis init -- COMMAND"
        )
    shown = os.path.relpath(script, folder)
    if "/" not in shown:  # a program is looked for in PATH, and a name may begin with a dash
        shown = f"./{shown}"
    if interpreter := INTERPRETERS.get(script.suffix.lower()):
        return [interpreter, shown.removeprefix("./") if shown[2:3] != "-" else shown]
    if os.access(script, os.X_OK):
        return [shown]
    raise BadInputError(
        f"{script} is not executable, and its suffix does not name a program that runs it",
        remedy=f"give the command: anubis init -- PROGRAM {shlex.quote(str(script))}",
    )
