"""Evaluations that failed: too many failed prompts, or an error before there were answers to score.

The record of a failure is beside the evaluations, by the name of the model, because a model whose files are
missing has no id. The warehouse lists the records (`warehouse/views/not_evaluated.sql`).
"""

import contextlib
from collections.abc import Iterator
from datetime import UTC, datetime

from pretexeval.config.file import Config
from pretexeval.engines.identity import identify_model
from pretexeval.primitives.errors import InputError, describe_failure, is_failure
from pretexeval.primitives.secrets import hide_known_keys
from pretexeval.storage.layout import failure_file
from pretexeval.storage.records import read_files
from pretexeval.storage.responses import KEYS
from pretexeval.storage.store import Store
from tasks.evaluation.evaluation import Evaluation, find_model, plan_evaluation
from tasks.evaluation.request_files import scan_requests, select_requests
from tasks.evaluation.run_record import is_complete, read_run


def require_evaluated(evaluation: Evaluation) -> None:
    """Check that the limit for failed prompts of a finished evaluation is not exceeded.

    Raises:
        InputError: more samples failed; the message says how many, why, and what to do.
    """
    record = read_run(evaluation)
    n_samples, n_errors, n_open = (int(record[name]) for name in ("n_samples", "n_errors", "n_open"))
    limit = evaluation.scoring.max_error_rate
    if n_errors <= limit * n_samples:
        return
    again = "run the same command again to ask only these" if n_open else "they are not asked again"
    raise InputError(
        f"model {evaluation.model.name!r}: {n_errors:,} of {n_samples:,} samples failed "
        f"({n_errors / n_samples:.1%}), more than max_error_rate = {limit:g} allows; "
        f"most often: {_find_commonest_error(evaluation)}. The other answers are kept; {again}, or raise "
        "max_error_rate in [scoring]"
    )


def _find_commonest_error(evaluation: Evaluation) -> str:
    files = read_files(read_run(evaluation), evaluation.folder)
    asked = scan_requests(evaluation, select_requests(files)).select(KEYS).collect()
    errors = evaluation.store.read([*KEYS, "error"]).drop_nulls("error")
    counted = asked.join(errors, on=KEYS).group_by("error").len()
    commonest = counted.sort("len", "error", descending=[True, False])["error"]
    return str(commonest[0]) if len(commonest) else "unknown"


@contextlib.contextmanager
def record_failure(
    store: Store,
    config: Config,
    edition_id: str,
    name: str,
    place: str | None = None,
    *,
    is_whole: bool = True,
) -> Iterator[None]:
    """Write the record of the failure if the block raises an error, and remove an earlier one if not.

    Args:
        place: the setting in which questions are asked, or the period in which anchors are asked.
        is_whole: whether the block is a whole evaluation; a part of one removes no record of another part.

    Raises:
        InputError: the block raised any error other than an interrupt or that of a full disk.
    """
    try:
        yield
    except BaseException as error:
        if not is_failure(error) and not isinstance(error, OSError):
            raise
        reason = describe_failure(error)
        # The full disk or the lost storage that ended the evaluation can also prevent its record.
        with contextlib.suppress(OSError, InputError):
            write_failure(store, config, edition_id, name, reason, place)
        if isinstance(error, InputError) or not is_failure(error):
            raise
        raise InputError(reason) from error
    if is_whole:
        store.remove(failure_file(edition_id, name, place))


def has_failure(store: Store, edition_id: str, name: str, place: str | None = None) -> bool:
    """Return whether there is a record of a failure of the model, here or in the bucket."""
    path = failure_file(edition_id, name, place)
    return (store.root / path).is_file() or store.fetch(path)


def write_failure(
    store: Store, config: Config, edition_id: str, name: str, reason: str, place: str | None = None
) -> None:
    """Write the record of a model's failure on an edition, and send it to the bucket."""
    path = failure_file(edition_id, name, place)
    record = {
        "edition_id": edition_id,
        "model": name,
        "model_id": _find_model_id(config, name),
        "reason": hide_known_keys(reason),
        "failed_at": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    store.write_record(path, record)


def _find_model_id(config: Config, name: str) -> str | None:
    try:
        return identify_model(find_model(config, name)).model_id
    except InputError:
        return None


def are_evaluated(config: Config, edition_id: str, store: Store) -> bool:
    """Return whether every evaluation is complete and up to date with intact files, and none failed."""
    for name, setting in config.list_evaluations():
        if has_failure(store, edition_id, name, setting):
            return False
        try:
            evaluation = plan_evaluation(config, edition_id, name, setting)
            if not is_complete(evaluation):
                return False
            require_evaluated(evaluation)
        except InputError:
            # The flow reports what is wrong.
            return False
    return True
