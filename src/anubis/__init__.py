"""Anubis weighs machine-learning systems.

``anubis.Client`` speaks to an installation; ``anubis.run("file.toml")`` weighs one descriptor and returns its runs
with their values. Both are imported when first used: the agent imports this module too, and must start fast.
"""

__version__ = "1.0.0.dev0"


def __getattr__(name):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202  read by Python 3.8 too
    if name in {"Client", "Outcome", "run"}:
        from anubis import client  # noqa: PLC0415

        return getattr(client, name)
    raise AttributeError(f"module 'anubis' has no attribute {name!r}")
