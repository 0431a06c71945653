"""The services of an installation as processes of this machine, without containers."""
