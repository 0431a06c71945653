"""The configuration of a run: all tables of the TOML file, and the checks on them."""
