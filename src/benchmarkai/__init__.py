"""The import name of the old client library: ``from benchmarkai import emit`` works unchanged."""

from anubis.agent.emit import FifoNotCreatedInTimeError, emit, emit_many, mode

__all__ = ["FifoNotCreatedInTimeError", "emit", "emit_many"]

mode()  # a BENCHMARK_AI that is neither stdout nor fifo was a ValueError of the import, and programs may rely on it
