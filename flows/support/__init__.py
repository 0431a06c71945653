"""What the flows share: dispatch to workers, keys, retries, and what the Prefect UI shows."""
