"""Measure the gate on labelled rewordings, and judge rewordings by a model with a calibrated threshold."""
