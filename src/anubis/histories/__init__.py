"""Formats of other tools: one module for each, named by an entry point of the group ``anubis.histories``."""
