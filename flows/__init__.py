"""The Prefect flows, one per file. The body of a flow reads as the list of its stages."""
