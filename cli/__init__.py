"""The command `pretexeval`: its subcommands, and Prefect in the process of one command."""
