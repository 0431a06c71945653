"""Errors that a user can mend: they say where, what, and what to do."""


class InputError(ValueError):
    """Bad input: a configuration, a knowledge base, a prototype pool or a model that cannot be used."""
