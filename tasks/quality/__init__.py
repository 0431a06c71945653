"""Validate the rows of stages, and measure the diversity of samples."""
