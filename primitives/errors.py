"""Errors that a user can fix. Their messages say where the problem is, what it is, and what to do."""


class InputError(ValueError):
    """The input cannot be used: a configuration, a knowledge base, a prototype pool or a model."""
