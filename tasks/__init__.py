"""The steps of the pipeline."""
