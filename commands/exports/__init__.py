"""Editions as tasks and data sets that other tools read, and the results of models in a common format."""
