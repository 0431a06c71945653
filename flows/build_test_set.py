"""build-test-set: from a knowledge base to the samples of a frozen edition."""

from prefect import flow

from config import Config
from flows.dispatch import require_part
from flows.rephrase_samples import rephrase_samples
from schemas.stages import ATTEMPTS, SAMPLES, STATEMENTS, TRIPLETS, VARIANTS
from tasks.edition import complete_edition, list_left_out, plan_edition
from tasks.stage import list_files_of, run_stage


@flow(name="build-test-set", flow_run_name="build-{config.knowledge.name}-seed{config.edition.seed}")
def build_test_set(config: Config) -> str:
    """The edition's name. Stages that are there already are taken as they are.

    Raises:
        InputError: if the knowledge base or the pool cannot be used, before anything is written;
            or if a stage does not meet its expectations, before the edition is complete.
    """
    edition = plan_edition(config)
    triplets = run_stage(edition, TRIPLETS.name)
    variants = run_stage(edition, VARIANTS.name, triplets)
    statements = run_stage(edition, STATEMENTS.name, triplets, variants)
    if edition.has_writers and not edition.is_worded:
        require_part(rephrase_samples, {"config": config})
    attempts = [run_stage(edition, ATTEMPTS.name, triplets, statements)] if edition.rephraser else []
    samples = run_stage(edition, SAMPLES.name, triplets, statements, *attempts)
    left_out = list_left_out(edition, triplets.read())
    files = list_files_of(triplets, variants, statements, *attempts, samples)
    return complete_edition(edition, files, left_out)
