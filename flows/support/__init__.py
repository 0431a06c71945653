"""Code that the flows share: dispatch to work pools, keys, stages, periods, retention, and results in the UI."""
