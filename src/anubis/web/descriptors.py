"""Descriptors in the bodies of requests, and the script archives that belong to them."""

import re
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from anubis.describe.drafting import DescriptorText
from anubis.describe.inheritance import extends_files
from anubis.model.errors import BadInputError, NotFoundError
from anubis.wiring import Installation

#: Key of a script archive.
ARCHIVE = re.compile(r"[0-9a-f]{64}\.tar")


#: Largest number of a byte, a line or an event: JSON numbers are exact up to it.
MOST_NUMBER = 1 << 53


class Strict(BaseModel):
    """A body without unknown members."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class CommitBody(Strict):
    """What the git repository of the submitter contains."""

    commit: str = Field(description="The resolved commit.")
    order_s: float | None = Field(None, description="Position of the commit in a series, UTC seconds.")


class DescriptorBody(Strict):
    """The text of a descriptor, without references to other files."""

    text: str = Field(description="The descriptor, in TOML.")
    name: str = Field("descriptor.toml", description="Name of the file, for messages.")
    folder: str | None = Field(
        None, description="Working folder of the benchmark; by default that in which the service was started."
    )
    commits: dict[str, CommitBody] = Field(
        {}, description="Commit as the descriptor names it ('auto', for example) -> what it is."
    )


def check_alone(text: str, name: str) -> None:
    """Raise BadInputError if a descriptor extends files: they would be files of the machine of the service."""
    if extends_files(text, name):
        raise BadInputError(
            "a descriptor that is sent to a service cannot extend files",
            remedy="merge the files first; the command line does it when it submits",
            file=name,
        )


def text_of(body: DescriptorBody) -> DescriptorText:
    """The descriptor. Raises BadInputError for a working folder that this machine does not have, and for bases."""
    check_alone(body.text, body.name)
    folder = Path(body.folder) if body.folder else Path.cwd()
    if not folder.is_absolute() or not folder.is_dir():
        raise BadInputError(
            f"the machine of the service has no folder {folder}",
            remedy="start the service on the machine with the benchmark, or use a folder that both machines have",
            file=body.name,
        )
    commits = {name: (known.commit, known.order_s) for name, known in body.commits.items()}
    return DescriptorText(text=body.text, folder=folder, name=body.name, commits=commits)


def script_of(key: str | None, installation: Installation) -> str | None:
    """The key of a script archive, if it is stored. Raises BadInputError if it is not."""
    if key is None:
        return None
    try:
        if ARCHIVE.fullmatch(key):
            installation.world.objects.open(key).close()
            return key
    except NotFoundError:
        pass
    raise BadInputError(
        f"the script archive {key!r} is not stored", remedy="store it with PUT /api/v1/scripts/KEY first"
    )
