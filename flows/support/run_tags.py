"""The tag of runs that no deployment tags: those that were started by hand, and subflows of a run."""

from contextlib import AbstractContextManager

from prefect import tags

from config.installation_names import find_installation


def tag_runs() -> AbstractContextManager[set[str]]:
    """Give the runs that begin in the block the tag by which the installation's automations find them."""
    return tags(find_installation().tag)
