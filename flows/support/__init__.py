"""Code that the flows share: dispatch to work pools, keys, retries, run names, and artifacts in the UI."""
