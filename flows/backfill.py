"""Make or complete the editions of past periods of a schedule. A command calls this; no deployment does."""

from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

from flows.build_test_set import build_test_set
from flows.publish import publish
from flows.regenerate import evaluate_models
from flows.support.periods import plan_period
from flows.support.retention import list_with_same_method
from flows.support.runs import call_flow
from pretexeval.config.file import Config
from pretexeval.primitives.errors import InputError
from pretexeval.storage.layout import WAREHOUSE, page_file
from tasks.edition.planning import plan_edition


def backfill(
    config: Config, moments: Sequence[datetime], report_step: Callable[[str], None]
) -> tuple[list[Path], dict[str, str]]:
    """Evaluate every model on the editions of these periods, then publish; return the paths and the failures.

    A period with a complete edition keeps it, although the base may have changed; any other gets one, as the
    schedule would build it now. Anchors are not asked, because answers of today say nothing of the past.

    Args:
        moments: a time in each period.
        report_step: receives a line about each edition.

    Returns:
        The paths of the warehouse and the index; period, or edition and model -> why it failed.

    Raises:
        InputError: the base cannot be used; or publishing failed, and the message also names the failures.
    """
    complete = list_with_same_method(plan_period(config, moments[0]))
    failures: dict[str, str] = {}
    for planned in (plan_period(config, moment) for moment in moments):
        label = str(planned.edition.label)
        names = [edition_id for edition_id, of in complete.items() if of == label]
        try:
            if not names:
                call_flow(build_test_set, config=planned)
                names = [plan_edition(planned).edition_id]
        except InputError as error:
            failures[label] = str(error)
        for edition_id in names:
            report_step(f"edition {edition_id}")
            for name, outcome in evaluate_models(planned, edition_id).items():
                if outcome.has_failed:
                    failures[f"{edition_id}, {name}"] = outcome.message
    report_step("publishing")
    try:
        call_flow(publish, config=config)
    except InputError as error:
        lines = [f"{what}: {reason}" for what, reason in failures.items()]
        raise InputError("\n".join([*lines, str(error)])) from error
    root = config.storage.root
    return [root / WAREHOUSE, root / page_file()], failures
