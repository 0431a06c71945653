"""Errors, hashing, secrets and TOML parsing: what every folder may use, and uses none."""
