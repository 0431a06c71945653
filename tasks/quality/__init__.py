"""Validate the rows of stages, and measure the samples of editions."""
