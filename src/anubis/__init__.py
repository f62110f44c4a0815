"""Anubis weighs machine-learning systems."""

__version__ = "1.0.0.dev0"
