"""Incremental stage 1 of change detection: the state of the fit after the newest point."""

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from anubis.analysis.changes.backward_elimination import BackwardElimination, Change
from anubis.analysis.changes.dynamic_program import RecursionState, chain, sweep_through
from anubis.analysis.changes.levels import RUNG, rungs_for
from anubis.analysis.changes.scaling import FARTHEST, Prepared
from anubis.analysis.changes.windows import FEWEST

Floats = NDArray[np.float64]


class Recursion:
    """The cheapest history of one series under a fixed noise model, extended point by point."""

    def __init__(self, prepared: Prepared, capacity: int) -> None:
        """``prepared`` contains one series; memory is allocated for ``capacity`` points."""
        self._start = prepared
        count = self._count = int(prepared.work.shape[1])
        self._scale = prepared.scales[0]
        self._origin = float(prepared.origin[0])
        self._sigma = float(prepared.model.sigma[0])
        self._between = float(prepared.model.between[0])
        self._penalty, self._bound = float(prepared.costs.penalty[0]), float(prepared.costs.bound[0])
        self._work = np.empty((1, capacity))
        self._work[:, :count] = prepared.work
        relative = prepared.noise.relative
        self._relative = None if relative is None else np.empty((1, capacity))
        if self._relative is not None and relative is not None:
            self._relative[:, :count] = relative
        self._elimination = BackwardElimination(prepared.work, prepared.noise)
        ending = self._sweep(prepared.scaled[0], None if relative is None else relative[0])
        self._limit, self._origins = ending.limit, ending.origins
        self._head = self._newest()

    def accepts(self, value: float, error: float) -> bool:
        """Whether this point can be added without a new preparation of all points."""
        if error and self._relative is None:
            return False
        return value > 0 if self._scale.logs else abs(value) * 1e-100 <= self._scale.unit

    def step(self, value: float, error: float) -> bool:
        """Add one point. Returns whether the result of ``decide`` may be different now."""
        work = self._work_of(value) - self._origin
        scaled = min(max(work / self._sigma, -FARTHEST), FARTHEST)
        at = self._count
        self._work[0, at] = work
        self._count = at + 1
        relative = 1.0
        if self._relative is not None:
            relative = self._relative[0, at] = self._relative_of(value, error)
        self._cover(scaled, math.sqrt(self._bound) * relative)
        loss, limit = self._loss, self._limit
        np.subtract(self._levels, scaled, out=loss)
        np.multiply(loss, loss, out=loss)
        if relative != 1.0:
            np.multiply(loss, 1 / (relative * relative), out=loss)
        np.minimum(loss, self._bound, out=loss)
        np.greater(self._cost, limit, out=self._entered)
        np.copyto(self._starts, at, where=self._entered)
        np.minimum(self._cost, limit, out=self._cost)
        np.add(self._cost, loss, out=self._cost)
        best = self._cost.argmin()
        self._limit = float(self._cost[best]) + self._penalty
        start = int(self._starts[best])
        self._origins.append(start)
        if at + 1 - start < FEWEST:
            start = self._newest()
        if start != self._head:
            self._head = start
            return True
        return self._count >= self._elimination.next_look

    def decide(self, threshold: float, min_effect: float) -> list[Change]:
        """Run stage 2 on the candidates of the cheapest history."""
        now = self.prepared()
        self._elimination.grow(now.work, now.noise)
        edges = [now.scales[0].smallest(min_effect)]
        return self._elimination.run([self.candidates()], threshold, edges)[0]

    def candidates(self) -> list[int]:
        """The changes of the cheapest history."""
        return [at for at in chain(self._origins) if FEWEST <= at <= self._count - FEWEST]

    def prepared(self) -> Prepared:
        """The prepared series with all points so far."""
        count = self._count
        relative = None if self._relative is None else self._relative[:, :count]
        noise = replace(self._start.noise, relative=relative)
        return replace(self._start, work=self._work[:, :count], noise=noise)

    def _newest(self) -> int:
        """Start of the newest segment that is long enough to be a level."""
        start = self._origins[-1]
        while start > 0 and self._count - start < FEWEST:
            start = self._origins[start - 1]
        return start

    def _sweep(self, scaled: Floats, relative: Floats | None) -> RecursionState:
        """Run through the points so far."""
        reach = math.sqrt(self._bound) * (1.0 if relative is None else relative)
        rungs = rungs_for(scaled, reach)
        weights = None if relative is None else 1 / (relative * relative)
        ending = sweep_through(scaled, weights, rungs, self._penalty, self._bound)
        self._hold(rungs, ending.cost, ending.starts)
        return ending

    def _hold(self, rungs: Floats, cost: Floats, starts: NDArray[np.int32]) -> None:
        self._rungs, self._cost, self._starts = rungs, cost, starts
        self._levels = rungs * RUNG
        self._loss = np.empty(len(rungs))
        self._entered = np.empty(len(rungs), dtype=np.bool_)
        self._lowest, self._highest = float(rungs[0]), float(rungs[-1])
        self._gapless = len(rungs) == self._highest - self._lowest + 1

    def _cover(self, scaled: float, reach: float) -> None:
        """Add the levels near a point. Entering a new level is a change, because every earlier point cost it the bound."""
        low, high = math.ceil((scaled - reach) / RUNG), math.floor((scaled + reach) / RUNG)
        if high < low:  # a precise point between two levels
            return
        rungs = self._rungs
        if self._gapless:
            if self._lowest <= low and high <= self._highest:
                return
        else:
            at = int(rungs.searchsorted(low))
            last = at + high - low
            if last < len(rungs) and rungs[at] == low and rungs[last] == high:
                return
        more = np.union1d(rungs, np.arange(low, high + 1, dtype=np.float64))
        cost, starts = np.full(len(more), np.inf), np.zeros(len(more), dtype=np.int32)
        known = more.searchsorted(rungs)
        cost[known], starts[known] = self._cost, self._starts
        self._hold(more, cost, starts)

    def _work_of(self, value: float) -> float:
        return float(np.log(value)) if self._scale.logs else value / self._scale.unit

    def _relative_of(self, value: float, error: float) -> float:
        known = error / value if self._scale.logs else error / self._scale.unit
        return math.sqrt(self._between * self._between + known * known) / self._sigma
