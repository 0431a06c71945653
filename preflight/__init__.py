"""What can be known before a run: the configuration, this machine, and what a run will take."""
