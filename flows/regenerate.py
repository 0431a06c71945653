"""regenerate: the next edition, every configured model on it, and the pages; what the schedule runs."""

from datetime import UTC, datetime
from pathlib import Path

from prefect import flow, runtime

from config import load_config
from flows.build_test_set import build_test_set
from flows.dispatch import run_parts
from flows.evaluate_model import evaluate_model
from flows.publish import publish
from schemas.errors import InputError
from tasks.schedule import plan_week


@flow(name="regenerate", flow_run_name="regenerate-{config_file.stem}")
def regenerate(config_file: Path, moment: datetime | None = None) -> str:
    """The name of the edition of the week. What is there already is not made, or asked for, again.

    Models are evaluated beside each other, as many as the pool lets run. One that fails does not stop the
    others: what succeeded is published, and the next run tries only what is missing.

    Args:
        config_file: a TOML file; its label and seed give way to the week's.
        moment: which week; when the run was scheduled for if not given, so that a late run, or a second
            one, makes the same edition.

    Raises:
        InputError: if the edition cannot be built; or, after publishing, if a model failed: which, and why.
    """
    scheduled = moment or runtime.flow_run.scheduled_start_time or datetime.now(UTC)
    config = plan_week(load_config(config_file), scheduled)
    edition_id = build_test_set(config)
    models = [model.name for model in config.models]
    calls = [{"config": config, "edition_id": edition_id, "model_name": name} for name in models]
    outcomes = zip(models, run_parts(evaluate_model, calls), strict=True)
    publish(config, edition_id)
    if failures := [f"{name}: {reason}" for name, reason in outcomes if reason is not None]:
        raise InputError(
            f"{len(failures)} of {len(models)} models failed on {edition_id}; " + "; ".join(failures)
        )
    return edition_id
