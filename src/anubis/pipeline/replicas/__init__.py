"""Runs with several replicas: what each of them is given."""
