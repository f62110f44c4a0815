from dataclasses import replace

import numpy as np
import pytest

from anubis.model.run import Status
from anubis.testing import a_descriptor, a_point, a_run


@pytest.fixture
def bench(house):
    """Stores finished runs with one value for each metric."""

    class Bench:
        random = np.random.default_rng(3)
        at = 0

        def add(self, *levels, name="bench", metrics=("throughput",), labels=None, run=None, **changes):
            for level in levels:
                self.at += 1
                descriptor = a_descriptor(name, labels=labels or {"team": "vision"})
                self.last = replace(
                    a_run(descriptor, status=Status.SUCCEEDED),
                    created_s=float(self.at),
                    ended_s=float(self.at),
                    **(run or {}),
                )
                points = [
                    a_point(
                        self.last,
                        metric,
                        level * float(np.exp(0.005 * self.random.standard_normal())),
                        order_s=float(self.at),
                        **{"better": "higher", "units": "img/s", "subject": f"v{self.at}", **changes},
                    )
                    for metric in metrics
                ]
                house.runs.add_finished([(self.last, "text")], points)
            return self.last

    return Bench()
