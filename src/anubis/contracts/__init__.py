"""Protocols of engines, stores and other adapters, one module per subject."""
