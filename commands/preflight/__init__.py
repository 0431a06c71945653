"""Checks and estimates before a run: the configuration, this machine, and the cost of the run."""
