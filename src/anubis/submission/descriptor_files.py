"""From descriptor files to submissions: one for each cell of each file."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from anubis import describe
from anubis.describe.drafting import DescriptorText
from anubis.model.descriptor import Descriptor
from anubis.model.errors import BadInputError
from anubis.model.problem import Problem, Severity
from anubis.submission import subject
from anubis.submission.submit import Submission

#: Maximum number of bytes that are read from a file.
MAX_BYTES = 64 << 20
#: Descriptors with at most so many bytes are read once while a process submits them again and again.
_SHORT = 8 << 10
#: Called with each warning about a descriptor file.
Warned = Callable[[Path, Problem], None]
_NO_SWEEP = Problem(
    path="sweep",
    message="its rules and budgets apply only to sweeps, not to these runs",
    remedy="use anubis sweep run, or remove [sweep]",
    severity=Severity.WARNING,
)


def submissions_of(
    files: Sequence[Path | DescriptorText],
    *,
    overrides: Mapping[str, str],
    script: str | None = None,
    warned: Warned | None = None,
    overlays: Sequence[Path] = (),
) -> list[Submission]:
    """The submissions of these files, in order; with several files, each contains the name of its file.

    Raises BadInputError with all problems of the first file that is not valid.
    """
    return [
        submission
        for file, name in zip(files, _names(files), strict=True)
        for submission in read(
            file, overrides=overrides, script=script, warned=warned, name=name, overlays=overlays
        )
    ]


def read(
    file: Path | DescriptorText,
    *,
    overrides: Mapping[str, str],
    script: str | None = None,
    warned: Warned | None = None,
    name: str = "",
    folder: Path | None = None,
    overlays: Sequence[Path] = (),
) -> Iterator[Submission]:
    """The submissions of one file.

    ``name`` identifies the file in its family; ``folder`` is the working folder (None: the folder of the file).
    ``overlays`` are files that change it.
    """
    text, descriptor, title, own_folder = descriptor_of(
        file, overrides=overrides, warned=warned, overlays=overlays
    )
    if warned and descriptor.sweep is not None:
        warned(Path(title), _NO_SWEEP)
    where = folder or own_folder
    known = file.commits if isinstance(file, DescriptorText) else {}
    for cell in describe.cells(descriptor):
        described = cell.descriptor
        tested, position_s = subject.looked_up(described.subject, where, known)
        yield Submission(
            descriptor=described if tested == described.subject else replace(described, subject=tested),
            order_s=position_s,
            text=text,
            cell={**({"file": name} if name else {}), **cell.values},
            folder=stored(where),
            script=script,
            overrides=overrides,
        )


def descriptor_of(
    file: Path | DescriptorText,
    *,
    overrides: Mapping[str, str],
    warned: Warned | None = None,
    overlays: Sequence[Path] = (),
) -> tuple[str, Descriptor, str, Path]:
    """The text that is stored with the runs, the descriptor, the name in messages and the working folder.

    The text of a file with bases or overlays contains them. Raises BadInputError with all problems.
    """
    content, title, folder = content_of(file)
    composed = describe.compose(content, title, folder, overlays)
    reading = _reading(composed.text, title, overrides)
    if reading.descriptor is None:
        raise invalid(composed.text, title, overrides, composed.located(reading.problems))
    if warned:
        for problem in composed.located(reading.problems):
            warned(Path(problem.file or title), problem)
    text = composed.text
    return text.decode() if isinstance(text, bytes) else text, reading.descriptor, title, folder


def _reading(text: bytes | str, title: str, overrides: Mapping[str, str]) -> "describe.Reading":
    if len(text) > _SHORT:
        return describe.read(text, filename=title, overrides=overrides)
    return _short_reading(text, title, tuple(overrides.items()))


@lru_cache(maxsize=256)
def _short_reading(
    text: bytes | str, title: str, overrides: tuple[tuple[str, str], ...]
) -> "describe.Reading":
    return describe.read(text, filename=title, overrides=dict(overrides))


def invalid(
    content: bytes | str, title: str, overrides: Mapping[str, str], problems: Sequence[Problem]
) -> BadInputError:
    """The error of a descriptor that cannot be read: the overrides are the cause if it is valid without them."""
    overridden = overrides and describe.read(content, filename=title).descriptor
    message = (
        f"the overrides are not valid for {title}" if overridden else f"{title} is not a valid descriptor"
    )
    return BadInputError(message, problems=problems, file=title)


def stored(folder: Path) -> str:
    """The working folder as it is stored. Raises BadInputError for a name that is not UTF-8."""
    try:
        return str(folder).encode().decode()
    except UnicodeEncodeError as error:
        raise BadInputError(
            f"the working folder {folder} has a name that is not UTF-8",
            remedy="rename it, or copy the descriptor to another folder",
        ) from error


def content_of(file: Path | DescriptorText) -> tuple[bytes, str, Path]:
    """The bytes of a descriptor, its name in messages, and the working folder of its benchmark."""
    if isinstance(file, DescriptorText):
        return file.text.encode(), file.name, file.folder
    try:
        with file.open("rb") as stream:  # a device or a data set, given by mistake, is not read as a whole
            content = stream.read(MAX_BYTES)
    except OSError as error:
        raise BadInputError(
            f"{file}: {error.strerror}", remedy="give the path of a descriptor file"
        ) from error
    return content, str(file), file.resolve().parent if file.is_file() else Path.cwd()


def _names(files: Sequence[Path | DescriptorText]) -> list[str]:
    """The name of each file in the family: file name, else path, else path and number; empty for a single file."""
    if len(files) == 1:
        return [""]
    for names in ([Path(file.name).name for file in files], [str(file) for file in files]):
        if len(set(names)) == len(files):
            return names
    return [f"{file} ({number})" for number, file in enumerate(files, 1)]
