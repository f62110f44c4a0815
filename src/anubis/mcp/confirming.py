"""Submissions that are described first, and carried out only with the token of the description."""

import hashlib
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path

from anubis import describe
from anubis.api.json_values import Json
from anubis.contracts.clock import Clock
from anubis.describe.drafting import DescriptorText
from anubis.mcp.callers import Caller
from anubis.mcp.descriptions import Description, Descriptions
from anubis.model.descriptor import SINGLE_RUN, Descriptor
from anubis.model.errors import BadInputError
from anubis.model.run import Run
from anubis.submission.descriptor_files import descriptor_of

#: How long a token is valid, seconds.
VALID_S = 600.0
#: Most runs that are described, and largest descriptor, characters.
MOST, MOST_CHARACTERS = 100, 1 << 20
_NAME = "descriptor.toml"


class Confirmations:
    """Descriptions by token. A token is used once, by the user who got it."""

    def __init__(self, caller: Caller, descriptions: Descriptions, clock: Clock) -> None:
        self._caller = caller
        self._descriptions = descriptions
        self._clock = clock

    def describe(
        self, text: str, *, folder: Path, overrides: Mapping[str, str], needs: Sequence[str]
    ) -> Json:
        """What would be submitted, with the token to submit it. Raises BadInputError with every problem."""
        if len(text) > MOST_CHARACTERS:
            raise BadInputError(
                "the descriptor is too large", remedy=f"use at most {MOST_CHARACTERS} characters"
            )
        self._caller.check(text, _NAME)
        if not folder.is_absolute() or not folder.is_dir():
            raise BadInputError(f"there is no folder {folder}", remedy="use the full path of a folder")
        given = DescriptorText(text=text, folder=folder, name=_NAME)
        _, descriptor, _, _ = descriptor_of(given, overrides=overrides)
        if descriptor.info.scheduling != SINGLE_RUN:
            raise BadInputError(
                "a descriptor with a schedule is not a single run", remedy="anubis schedule add FILE"
            )
        runs = [_run(cell.descriptor, cell.values) for cell in describe.cells(descriptor)]
        token, now_s = secrets.token_urlsafe(24), self._clock.now_s()
        description = Description(
            text=text,
            folder=str(folder),
            overrides=dict(overrides),
            needs=tuple(needs),
            user=self._caller.name,
            until_s=now_s + VALID_S,
        )
        self._descriptions.put(_digest(token), description, now_s=now_s)
        return {
            "benchmark": descriptor.info.name,
            "folder": str(folder),
            "runs": runs[:MOST],
            "number_of_runs": len(runs),
            "needs": list(needs),
            "token": token,
            "valid_s": VALID_S,
            "next": "ask the user; if they agree, call submit with this token",
        }

    def submit(self, token: str) -> list[Run]:
        """Submit what was described with this token. Raises BadInputError for another token."""
        client = self._caller.submitter()  # without the right to submit, the token remains valid
        described = self._descriptions.take(_digest(token), user=self._caller.name, now_s=self._clock.now_s())
        if described is None:
            raise BadInputError(
                "the token is not valid: it was used, it is of another user, or it is older than 10 minutes",
                remedy="look with list_runs whether the runs are stored; if not, call describe_submission again",
            )
        text = DescriptorText(text=described.text, folder=Path(described.folder), name=_NAME)
        runs = client.runs.submit([text], overrides=described.overrides, needs=described.needs)
        self._caller.submitted()
        return runs


def _digest(token: str) -> str:
    """What is stored of a token."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


def _run(descriptor: Descriptor, cell: Mapping[str, object]) -> Json:
    """What a user must know about a run to agree to it."""
    return {
        "cell": dict(cell),
        "engine": descriptor.info.execution_engine,
        "machine": descriptor.hardware.instance_type,
        "image": descriptor.env.docker_image,
        "command": " ".join(filter(None, (descriptor.ml.benchmark_code, descriptor.ml.args))),
        "repeats": descriptor.measure.repeats,
        "data": [source.src for source in descriptor.data.sources],
        "max_cost": None if descriptor.hardware.max_cost is None else str(descriptor.hardware.max_cost),
    }
