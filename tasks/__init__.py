"""The steps of the pipeline: pure functions from frame to frame, a file per stage."""
