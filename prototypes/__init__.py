"""Prototype pools: a TOML file per knowledge base and pool, and what reads and checks them."""
