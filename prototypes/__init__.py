"""Prototype pools: one TOML file per knowledge base and pool, and the code that reads and checks pools."""
