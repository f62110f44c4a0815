"""Replay of a stored run: the same descriptor again, and what of the run cannot be had again.

What would be measured under a wrong name is an error: another commit, a folder or a script archive that is gone. What may
change the values is a warning.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from anubis import describe
from anubis.model.descriptor import Descriptor, Subject
from anubis.model.errors import BadInputError
from anubis.model.problem import Problem, Severity
from anubis.model.run import Run
from anubis.record.reading import Record
from anubis.submission import subject
from anubis.submission.git import Repository
from anubis.submission.submit import Submission

#: Coordinates in a family that a single run does not have.
_OF_FAMILY = ("file", "round")
#: Number of digits of a commit in a message.
_SHORT = 12
#: Number of variables that a message names.
_NAMES = 8


def submission_of(run: Run, text: str, *, overrides: Mapping[str, str], folder: Path | None) -> Submission:
    """The submission that repeats a run, with further overrides, in ``folder`` (None: where it was measured).

    Raises BadInputError if the run was not measured by Anubis, or if an override is not valid.
    """
    where = folder or (Path(run.folder) if run.folder else None)
    descriptor = _overridden(run.descriptor, overrides) if overrides else run.descriptor
    order_s = run.order_s
    if where and descriptor.subject != run.descriptor.subject:
        descriptor = replace(descriptor, subject=subject.resolve(descriptor.subject, where))
        order_s = subject.order_s(descriptor.subject, where)
    return Submission(
        descriptor=descriptor,
        text=text,
        cell={axis: value for axis, value in run.cell.items() if axis not in _OF_FAMILY},
        folder=None if where is None else str(where.resolve()),
        overrides={**run.overrides, **overrides},
        order_s=order_s,
    )


def _overridden(descriptor: Descriptor, overrides: Mapping[str, str]) -> Descriptor:
    reading = describe.changed(descriptor, overrides)
    if reading.descriptor is None:
        raise BadInputError("the overrides are not valid for this run", problems=reading.problems)
    return reading.descriptor


def code_differences(submission: Submission, *, new_commit: bool) -> Iterator[Problem]:
    """What differs in the code and the data: errors where another code would be measured.

    ``new_commit``: the commit was set for the replay, so it need not be that of the stored run.
    """
    descriptor = submission.descriptor
    for index, source in enumerate(descriptor.data.sources):
        if source.digest is None:
            message = f"it is not checked that the data of {source.src} are the same: they have no digest"
            yield _warning(f"data.sources[{index}]", message)
    if submission.folder is None or not Path(submission.folder).is_dir():
        where = submission.folder or "in which the run was submitted"
        yield Problem(
            path="folder",
            message=f"the folder {where} does not exist here",
            remedy="name the folder of the benchmark with --folder DIR",
        )
    elif descriptor.ml.script is None and not new_commit:
        yield from _commit_differences(descriptor.subject.commit, Path(submission.folder))


def _commit_differences(commit: str | None, folder: Path) -> Iterator[Problem]:
    path = "subject.commit"
    if commit is None:
        message = f"the run has no commit, so it is not checked whether {folder} has the same code"
        yield _warning(path, message, 'set subject.commit = "auto" in the descriptor for future runs')
        return
    try:
        repository = Repository(folder)
        now = subject.resolve(Subject(commit=subject.AUTO), folder).commit or ""
    except BadInputError:
        message = (
            f"{folder} is not in a git working tree, so it is not checked whether it has commit {commit}"
        )
        yield _warning(path, message)
        return
    present = "or measure the present code with --set subject.commit=auto"
    clean = commit.removesuffix(subject.DIRTY)
    if clean != commit:
        message = f"the run measured uncommitted changes of {clean[:_SHORT]}, which are not stored"
        yield Problem(path=path, message=message, remedy=f"restore and commit them, {present}")
        return
    message = f"the run measured commit {clean[:_SHORT]}, but {folder} has {_shown(now)}"
    try:
        stored = repository.commit(commit)
    except BadInputError:
        message += ", and its repository does not have the commit"
        yield Problem(path=path, message=message, remedy=f"fetch the commit, {present}")
        return
    if stored != now:
        remedy = f"git worktree add DIR {clean[:_SHORT]}, and name its folder with --folder; {present}"
        yield Problem(path=path, message=message, remedy=remedy)


def _shown(commit: str) -> str:
    clean = commit.removesuffix(subject.DIRTY)
    return f"{clean[:_SHORT]}{' with uncommitted changes' if clean != commit else ''}"


def machine_differences(stored: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[Problem]:
    """What differs between the facts of two machines (``facts.json``), as warnings."""
    before, after = stored.get("fingerprint_inputs") or {}, now.get("fingerprint_inputs") or {}
    if not before:
        yield _warning("machine", "the record has no facts about the machine, so it is not compared")
        return
    for name in (name for name in {**before, **after} if before.get(name) != after.get(name)):
        message = f"{name} was {before.get(name)} and is {after.get(name)}: the values form another series"
        yield _warning(f"machine.{name}", message)
    for name, what in (
        ("file", "the Python on the PATH"),
        ("distributions_digest", "its installed packages"),
    ):
        old, new = ((facts.get("python") or {}).get(name) for facts in (stored, now))
        if old != new:
            values = f": {old}, now {new}" if name == "file" else ""
            yield _warning(f"python.{name}", f"{what} changed{values}")


def measured_differences(before: Record, after: Record) -> Iterator[Problem]:
    """What differs between the data and the images that two runs have read, as warnings; nothing for what only one has."""
    pairs = zip(before.data_sources, after.data_sources, strict=False)
    for index, (old, new) in enumerate(pairs):
        if old.get("digest") != new.get("digest"):
            message = f"the data of {new.get('src')} were {old.get('digest')} and are {new.get('digest')}"
            yield _warning(f"data[{index}]", message, "compare only runs that have read the same data")
    images = before.image_digest, after.image_digest
    if all(images) and images[0] != images[1]:
        message = f"the image was {images[0]} and is {images[1]}"
        yield _warning("image", message, "set env.docker_image to the image with the first digest")


def environment_differences(changed: Sequence[str] | None) -> Iterator[Problem]:
    """What differs in the environment: names of variables that cannot be repeated; None: it is not recorded here."""
    if changed is None:
        message = (
            "this installation has not recorded the environment of the run: that of this command is used"
        )
        yield _warning("environment", message)
    elif changed:
        names = ", ".join(changed[:_NAMES]) + (
            f" and {len(changed) - _NAMES} more" if changed[_NAMES:] else ""
        )
        yield _warning("environment", f"these variables differ, and have their present values: {names}")


def _warning(path: str, message: str, remedy: str = "") -> Problem:
    return Problem(path=path, message=message, remedy=remedy, severity=Severity.WARNING)
