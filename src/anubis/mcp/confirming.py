"""Submissions that are described first, and carried out only with the token of the description."""

import secrets
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from anubis import describe
from anubis.api.json_values import Json
from anubis.client import Client
from anubis.contracts.clock import Clock
from anubis.describe.drafting import DescriptorText
from anubis.model.descriptor import SINGLE_RUN, Descriptor
from anubis.model.errors import BadInputError
from anubis.model.run import Run
from anubis.submission.descriptor_files import descriptor_of

#: How long a token is valid, seconds.
VALID_S = 600.0
#: Most descriptions that wait for their confirmation, and largest descriptor, characters.
MOST, MOST_CHARACTERS = 100, 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """A submission that was described."""

    texts: Sequence[DescriptorText]
    overrides: Mapping[str, str]
    needs: Sequence[str]
    #: Monotonic time after which the token is not valid.
    until_s: float


class Confirmations:
    """Descriptions by token. A token is used once. Several threads may use it."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._described: dict[str, Described] = {}

    def describe(
        self, text: str, *, folder: Path, overrides: Mapping[str, str], needs: Sequence[str]
    ) -> Json:
        """What would be submitted, with the token to submit it. Raises BadInputError with every problem."""
        if len(text) > MOST_CHARACTERS:
            raise BadInputError(
                "the descriptor is too large", remedy=f"use at most {MOST_CHARACTERS} characters"
            )
        if not folder.is_absolute() or not folder.is_dir():
            raise BadInputError(f"there is no folder {folder}", remedy="use the full path of a folder")
        given = DescriptorText(text=text, folder=folder, name="descriptor.toml")
        _, descriptor, _, _ = descriptor_of(given, overrides=overrides)
        if descriptor.info.scheduling != SINGLE_RUN:
            raise BadInputError(
                "a descriptor with a schedule is not a single run", remedy="anubis schedule add FILE"
            )
        runs = [_run(cell.descriptor, cell.values) for cell in describe.cells(descriptor)]
        token, now_s = secrets.token_urlsafe(24), self._clock.monotonic_s()
        with self._lock:
            kept = {name: each for name, each in self._described.items() if each.until_s > now_s}
            for name in list(kept)[: max(0, len(kept) - MOST + 1)]:
                del kept[name]
            kept[token] = Described(
                texts=[given], overrides=dict(overrides), needs=tuple(needs), until_s=now_s + VALID_S
            )
            self._described = kept
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

    def submit(self, client: Client, token: str) -> list[Run]:
        """Submit what was described with this token. Raises BadInputError for another token."""
        now_s = self._clock.monotonic_s()
        with self._lock:
            described = self._described.pop(token, None)
        if described is None or described.until_s <= now_s:
            raise BadInputError(
                "the token is not valid: it was used, or it is older than 10 minutes",
                remedy="call describe_submission again",
            )
        runs = client.runs.submit(described.texts, overrides=described.overrides, needs=described.needs)
        client.workers.start()
        return runs


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
