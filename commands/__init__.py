"""The command `pretexeval`: its subcommands, and Prefect within the process of one command."""
