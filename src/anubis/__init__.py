"""Anubis benchmarks machine-learning systems.

``anubis.Client`` accesses an installation; ``anubis.run("file.toml")`` runs one descriptor and returns its runs with their
values. Both are imported on first use, because the agent also imports this module and must start fast.
"""

__version__ = "1.0.0.dev0"


def __getattr__(name):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202  read by Python 3.8 too
    if name in {"Client", "Outcome", "run"}:
        from anubis import client  # noqa: PLC0415

        return getattr(client, name)
    raise AttributeError(f"module 'anubis' has no attribute {name!r}")
