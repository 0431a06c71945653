"""Errors, hashing, secrets and TOML parsing. Every folder may import these; they import no other folder."""
