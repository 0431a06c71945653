"""Editions as tasks and data sets that other tools read."""
