"""build-test-set: from a knowledge base to the samples of a frozen edition."""

from prefect import flow

from config.file import Config
from flows.rephrase_samples import rephrase_samples
from flows.support.artifacts import link_edition, show_calls
from flows.support.dispatch import require_part
from flows.support.keys import open_mirror
from flows.support.retries import read_time_limit
from flows.support.run_names import name_edition_run
from schemas.stages import ATTEMPTS, SAMPLES, STATEMENTS, TRIPLETS, VARIANTS
from tasks.edition.edition import complete_edition, list_left_out, plan_edition
from tasks.edition.stage_files import fetch_kept_files
from tasks.edition.stage_task import list_files_of, run_stage


@flow(
    name="build-test-set",
    flow_run_name=name_edition_run("build"),
    timeout_seconds=read_time_limit(),
)
def build_test_set(config: Config) -> str:
    """Build the edition and return its name. Stages that are there already are taken as they are.

    Raises:
        InputError: if the knowledge base or the pool cannot be used, before anything is written;
            or if a stage does not meet its expectations, before the edition is complete.
    """
    edition, mirror = plan_edition(config), open_mirror(config.storage)
    mirror.pull_edition(edition.edition_id)
    make = show_calls(run_stage, f"stages of {edition.edition_id}", len(edition.stages))
    triplets = make(edition, TRIPLETS.name)
    variants = make(edition, VARIANTS.name, triplets)
    statements = make(edition, STATEMENTS.name, triplets, variants)
    attempts = []
    if edition.writers and not edition.is_worded():
        require_part(rephrase_samples, {"config": config})
        for writer in edition.writers:
            mirror.sync_responses(writer.model_id)
    if edition.rephraser:
        fetch_kept_files(edition, ATTEMPTS.name, triplets, statements, mirror=mirror)
        attempts.append(make(edition, ATTEMPTS.name, triplets, statements))
    samples = make(edition, SAMPLES.name, triplets, statements, *attempts)
    left_out = list_left_out(edition, triplets.read_all(edition.root))
    files = list_files_of(triplets, variants, statements, *attempts, samples)
    complete_edition(edition, files, left_out)
    mirror.push_edition(edition.edition_id)
    link_edition(config, edition.edition_id)
    return edition.edition_id
