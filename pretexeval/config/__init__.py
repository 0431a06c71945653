"""The configuration of a run: the tables of the TOML file and the checks on them."""
