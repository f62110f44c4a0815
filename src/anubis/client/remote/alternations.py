"""Alternations whose runs a service measures and judges; this process asks for further rounds.

The rounds follow from what is stored, so a request that arrives twice stores them once, and another process can
continue.
"""

import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

from anubis.alternation.judgement import State
from anubis.alternation.plan import Alternation, Plan
from anubis.api.alternations import alternation_from_json, state_from_json
from anubis.client import alternating
from anubis.client.protocol import tools as protocol
from anubis.client.remote import submission
from anubis.client.remote.connection import ServiceConnection
from anubis.client.remote.runs import Runs
from anubis.model.problem import Problem
from anubis.model.run import Run


class Alternations(protocol.Alternations):
    """``Alternations`` (see the protocol) over HTTP."""

    def __init__(self, connection: ServiceConnection) -> None:
        self._connection = connection
        self._runs = Runs(connection)

    def begin(
        self,
        files: Sequence[Path],
        asked: Plan,
        *,
        overrides: Mapping[str, str] | None = None,
        script: Path | None = None,
        warned: Callable[[Path, Problem], None] | None = None,
    ) -> Alternation:
        descriptors = submission.Descriptors(warned)
        body = {
            "descriptors": [descriptors.body(file, overrides=overrides or {}) for file in files],
            "overrides": dict(overrides or {}),
            "script": submission.stored_script(self._connection, script),
            "rounds": asked.rounds,
            "max_s": asked.max_s,
            "min_effect": asked.min_effect,
            "metrics": list(asked.metrics),
        }
        answer = self._connection.post("alternations", body, key=str(uuid.uuid4()))
        descriptors.warn(answer["warnings"])
        return alternation_from_json(answer["alternation"])

    def get(self, ref: str) -> Alternation:
        return alternation_from_json(self._connection.get(_path(ref)))

    def state(self, ref: str) -> State:
        return state_from_json(self._connection.get(f"{_path(ref)}/state"))

    def extend(self, ref: str, *, after: int) -> Alternation:
        # What is stored follows from the body, so the request may be repeated.
        return alternation_from_json(self._connection.put(f"{_path(ref)}/rounds", {"after": after}))

    def proceed(
        self,
        alternation: Alternation,
        *,
        measure: Callable[[Sequence[Run]], Sequence[Run]] | None = None,
        judged: Callable[[State], None] | None = None,
    ) -> State:
        def measured(run_ids: Sequence[str]) -> None:
            if measure is None:
                self._runs.wait(run_ids)
            else:
                measure([self._runs.get(run_id) for run_id in run_ids])

        return alternating.proceed(self, alternation, measure=measured, judged=judged)


def _path(ref: str) -> str:
    return f"alternations/{quote(ref, safe='')}"
