"""Errors, hashes, secrets, TOML and HTTP. Every folder may import these; they import no other folder."""
