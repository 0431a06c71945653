"""The flows in the process of a command, with a Prefect server of its own that ends with it."""
