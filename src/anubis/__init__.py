"""Anubis benchmarks machine-learning systems.

``anubis.Client`` is the interface to an installation; ``anubis.run("file.toml")`` measures one descriptor and returns its
runs with their values. Both are imported at their first use, because the agent imports this module too.
"""

__version__ = "1.0.0.dev0"


def __getattr__(name):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202  read by Python 3.8 too
    if name == "Client":
        from anubis.client import Client  # noqa: PLC0415

        return Client
    if name in {"Outcome", "run"}:
        from anubis.client import outcome  # noqa: PLC0415

        return getattr(outcome, name)
    raise AttributeError(f"module 'anubis' has no attribute {name!r}")
