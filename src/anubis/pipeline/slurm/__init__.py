"""Shared code of engines that place runs with Slurm: its commands, their output, batches and scripts."""
