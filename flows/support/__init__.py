"""Code that the flows share: dispatch to work pools, keys, stages, periods, retention, results in the UI."""
