"""The record of a model beside its responses, which says what the model is."""

import logging
from collections.abc import Iterable
from pathlib import Path

from pretexeval.config.engines import EngineConfig, ModelConfig
from pretexeval.engines.identity import find_commit, identify_model, is_hub_model
from pretexeval.primitives.errors import InputError
from pretexeval.storage.layout import model_file, responses_folder
from pretexeval.storage.records import find_record
from pretexeval.storage.store import Store

logger = logging.getLogger(__name__)

WRITTEN_AGAIN = "it is written again"


def read_commit(root: Path, model_id: str) -> str | None:
    """Return the commit in the model's record; None if there is none."""
    record = find_record(root / model_file(model_id), WRITTEN_AGAIN, model_id=model_id)
    commit = (record or {}).get("commit")
    return commit if isinstance(commit, str) else None


def pin_commit(config: EngineConfig, store: Store, model_id: str) -> EngineConfig:
    """Return the configuration with the recorded commit as its revision, if there is one.

    A record without a commit is replaced by that of the bucket, where another host may have recorded one.
    """
    if not is_hub_model(config):
        return config
    recorded = read_commit(store.root, model_id)
    if recorded is None and store.fetch(model_file(model_id)):
        recorded = read_commit(store.root, model_id)
    if recorded is None:
        return config
    if (cached := find_commit(config)) not in (None, recorded):
        logger.warning(
            "model %r: the answers of %s are of commit %s of %s, which is evaluated again; to evaluate %s as "
            "another model, set revision = %r",
            config.name,
            model_id,
            recorded,
            config.model,
            cached,
            cached,
        )
    return config.model_copy(update={"revision": recorded})


def warn_without_commit(config: EngineConfig, model_id: str) -> None:
    """Warn if the configuration with which a hub model was loaded does not name the commit that was loaded.

    Args:
        config: the configuration that `pin_commit` returned, so that only the first load is warned about.
    """
    if not is_hub_model(config) or (commit := find_commit(config)) in (None, config.revision):
        return
    logger.warning(
        "model %r: its table names no commit, so commit %s of %s was loaded, and is loaded from now on with "
        "this data folder; with another data folder, another commit may be loaded under the same id, %s. To "
        "ask this commit everywhere, set revision = %r in the table; this gives the model an id of its own",
        config.name,
        commit,
        config.model,
        model_id,
        commit,
    )


def write_model_record(config: EngineConfig, store: Store, *, is_loaded: bool = False) -> None:
    """Write the record of a model, and send it to the bucket. A damaged record is set aside.

    Args:
        is_loaded: whether the model was just loaded, so that the commit of a hub model is known.
    """
    found = identify_model(config)
    description = {
        "model_id": found.model_id,
        "name": config.name,
        "engine": config.engine,
        "identity": found.identity,
        **found.taught.to_record(),
    }
    if config.price is not None:
        description["price"] = config.price
    if isinstance(config, ModelConfig) and config.training_cutoff is not None:
        description["training_cutoff"] = config.training_cutoff.isoformat()
    if is_hub_model(config):
        recorded = read_commit(store.root, found.model_id)
        description["commit"] = recorded or (find_commit(config) if is_loaded else None)
    path = model_file(found.model_id)
    find_record(store.root / path, WRITTEN_AGAIN, model_id=found.model_id)
    store.write_record(path, description)


def restore_model_records(configs: Iterable[EngineConfig], store: Store) -> None:
    """Write the records of models that have responses but no usable record. A damaged record is set aside."""
    for config in configs:
        try:
            model_id = identify_model(config).model_id
        except InputError:
            # Whoever needs the model reports what is wrong with its files.
            continue
        path = store.root / model_file(model_id)
        if (store.root / responses_folder(model_id)).is_dir() and not find_record(
            path, WRITTEN_AGAIN, model_id=model_id
        ):
            write_model_record(config, store)
