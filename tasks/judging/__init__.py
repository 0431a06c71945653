"""Estimate the errors of a writer whose rewordings the gate accepts, and let a model judge rewordings."""
