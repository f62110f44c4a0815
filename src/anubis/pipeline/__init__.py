"""The path of a run, one module per stage."""
