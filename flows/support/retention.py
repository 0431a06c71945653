"""Retention: which scheduled editions of a configuration are older than `keep_editions` allows.

The newest periods are kept, however late their editions were built. The newest results of every model are
kept too, so that an edition goes only when its successor has been evaluated.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from flows.support.periods import list_scheduled
from pretexeval.config.file import Config
from pretexeval.config.schedule import find_first_day
from pretexeval.storage.layout import (
    ANCHOR_EVALUATIONS_FOLDER,
    EVALUATIONS_FOLDER,
    PUBLISH_LOCK,
    QUESTION_EVALUATIONS_FOLDER,
    RUN,
    UNSURE_EVALUATIONS_FOLDER,
    evaluation_folder,
    failure_file,
    review_folder,
)
from pretexeval.storage.locks import hold_file_lock
from pretexeval.storage.publication import finish_removals, is_evaluated_now, remove_edition, sync_everything
from pretexeval.storage.records import find_manifest
from pretexeval.storage.store import Store
from tasks.edition.planning import plan_edition

# These differ between the editions of a schedule, or may have changed with the base and the code since then.
CHANGING = (
    "format",
    "seed",
    "series",
    "knowledge",
    "prototypes",
    "questions",
    "as_written",
    "releases",
)


def list_old_editions(config: Config) -> dict[str, str | None]:
    """Return the editions of the schedule from periods beyond the newest `keep_editions`, the oldest first.

    Each has the reason why it must be kept all the same, or None.

    Args:
        config: the configuration of a scheduled edition (`plan_period`), whose own period is never listed.
    """
    n_kept = config.storage.keep_editions
    if n_kept is None:
        return {}
    first_days = {name: find_first_day(label) for name, label in list_with_same_method(config).items()}
    kept = {*list(dict.fromkeys(first_days.values()))[-n_kept:], find_first_day(str(config.edition.label))}
    newest = _find_newest_results(config, list(first_days))
    return {
        edition_id: _find_reason(config, edition_id, newest.get(edition_id, []))
        for edition_id, day in first_days.items()
        if day not in kept
    }


def remove_old_editions(config: Config, store: Store) -> dict[str, str | None]:
    """Remove old editions with their evaluations, pages and measurements, unless a reason keeps them.

    Return what `list_old_editions` found: the editions that were removed, and those that are kept.

    Answers of models, replies of writers and reviews stay.
    """
    root = config.storage.root
    if config.storage.keep_editions is None:
        return {}
    with store.hold_lease("publish"), hold_file_lock(root / PUBLISH_LOCK, "publishing"):
        finish_removals(store)
        # Other hosts may have evaluated models.
        sync_everything(store)
        found = list_old_editions(config)
        for edition_id, reason in found.items():
            if reason is None:
                remove_edition(store, edition_id)
    return found


def list_with_same_method(config: Config) -> dict[str, str]:
    """Return the complete editions that the schedule of this configuration has built -> their labels.

    Args:
        config: the configuration of a scheduled edition (`plan_period`).
    """
    wanted = _select_lasting(plan_edition(config).configuration)
    root, labels = config.storage.root, dict[str, str]()
    for edition_id, label in list_scheduled(config).items():
        manifest = find_manifest(root, edition_id) or {}
        if _select_lasting(manifest.get("configuration") or {}) == wanted:
            labels[edition_id] = label
    return labels


def _find_newest_results(config: Config, edition_ids: Sequence[str]) -> dict[str, list[str]]:
    """Return edition -> the models of which it has the newest results.

    Args:
        edition_ids: the oldest first.
    """
    root, newest = config.storage.root, dict[str, list[str]]()
    for name, setting in config.list_evaluations():
        for edition_id in reversed(edition_ids):
            folder = (root / evaluation_folder(edition_id, name, setting)).parent
            names = {path.parent.name.rpartition("-")[0] for path in folder.glob(f"*/{RUN}")}
            if name in names and not (root / failure_file(edition_id, name, setting)).exists():
                newest.setdefault(edition_id, []).append(name)
                break
    return newest


def _select_lasting(configuration: Mapping[str, Any]) -> dict[str, Any]:
    """Return what all editions of a schedule have in common."""
    lasting = {name: value for name, value in configuration.items() if name not in CHANGING}
    rephraser = lasting.get("rephraser")
    if isinstance(rephraser, dict):
        # The seed of the edition, and the version of the gate.
        lasting["rephraser"] = {k: v for k, v in rephraser.items() if k not in ("seed", "gate")}
    return dict(json.loads(json.dumps(lasting)))


def _find_reason(config: Config, edition_id: str, newest: Sequence[str]) -> str | None:
    """Return why an old edition must not be removed; None if it may be.

    Args:
        newest: the models of which it has the newest results.
    """
    if newest:
        return f"no newer edition has results of {', '.join(dict.fromkeys(newest))}"
    root, names = config.storage.root, {model.name for model in config.models}
    of_samples = (root / EVALUATIONS_FOLDER / edition_id).glob("*")
    in_settings = (
        path
        for kind in (QUESTION_EVALUATIONS_FOLDER, UNSURE_EVALUATIONS_FOLDER)
        for path in (root / kind / edition_id).glob("*/*")
    )
    ids = {path.name for path in (*of_samples, *in_settings)}
    if others := sorted(each for each in ids if each.rpartition("-")[0] not in names):
        return f"this configuration does not name {', '.join(others)}, which it was evaluated for"
    if (root / ANCHOR_EVALUATIONS_FOLDER / edition_id).exists():
        return "its pairs are asked again as anchors"
    if (root / review_folder(edition_id)).exists():
        return "people reviewed it"
    if is_evaluated_now(root, edition_id):
        return "a model is being evaluated on it"
    return None
