"""The commit of a hub model: the answers under one model id come from one commit.

The id of a hub model contains its declared revision, which may be a branch, or none. The commit that was
loaded first is written into the model's record, and from then on this commit is loaded, wherever the branch
has moved. Answers that were stored before the record had a commit are taken to be of the commit that is
loaded next.
"""

import logging
from pathlib import Path

from config.engines import EngineConfig
from engines.hub_cache import find_commit
from engines.identity import IN_PROCESS, find_folder
from storage.layout import model_file
from storage.mirror import Mirror
from storage.records import find_record

logger = logging.getLogger(__name__)


def is_on_hub(config: EngineConfig) -> bool:
    """Return whether the model is loaded from the hub.

    Raises:
        InputError: it is a local folder that is not complete.
    """
    return config.engine in IN_PROCESS and find_folder(config) is None


def read_commit(root: Path, model_id: str) -> str | None:
    """Return the commit in the model's record; null if there is none."""
    record = find_record(root / model_file(model_id), "it is written again", model_id=model_id)
    commit = (record or {}).get("commit")
    return commit if isinstance(commit, str) else None


def pin_commit(config: EngineConfig, mirror: Mirror, model_id: str) -> EngineConfig:
    """Return the configuration with the recorded commit as its revision, if there is one.

    A record without a commit is replaced by that of the bucket, where another host may have recorded one.
    """
    if not is_on_hub(config):
        return config
    recorded = read_commit(mirror.root, model_id)
    if recorded is None and mirror.fetch(model_file(model_id)):
        recorded = read_commit(mirror.root, model_id)
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
    if not is_on_hub(config) or (commit := find_commit(config)) in (None, config.revision):
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
