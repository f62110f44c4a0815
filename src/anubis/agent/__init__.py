"""Runs beside the benchmark, in the user's image: standard library only, Python 3.8+."""
