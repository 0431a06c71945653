"""What a run leaves in the Prefect UI."""
