"""The record of a model beside its responses, which says what the model is."""

from collections.abc import Iterable

from config.engines import EngineConfig
from engines.hub_cache import find_commit
from engines.identity import identify_model
from primitives.errors import InputError
from storage.layout import model_file, responses_folder
from storage.mirror import Mirror
from storage.records import find_record, write_record
from tasks.asking.hub_commits import is_on_hub, read_commit

WRITTEN_AGAIN = "it is written again"


def write_model_record(config: EngineConfig, mirror: Mirror, *, is_loaded: bool = False) -> None:
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
    if is_on_hub(config):
        recorded = read_commit(mirror.root, found.model_id)
        description["commit"] = recorded or (find_commit(config) if is_loaded else None)
    path = model_file(found.model_id)
    find_record(mirror.root / path, WRITTEN_AGAIN, model_id=found.model_id)
    write_record(mirror.root / path, description)
    mirror.send(path)


def restore_model_records(configs: Iterable[EngineConfig], mirror: Mirror) -> None:
    """Write the records of models that have responses but no usable record. A damaged record is set aside."""
    for config in configs:
        try:
            model_id = identify_model(config).model_id
        except InputError:
            # Whoever needs the model reports what is wrong with its files.
            continue
        path = mirror.root / model_file(model_id)
        if (mirror.root / responses_folder(model_id)).is_dir() and not find_record(
            path, WRITTEN_AGAIN, model_id=model_id
        ):
            write_model_record(config, mirror)
