"""Import recorded responses as the evaluation of a model: store them, score them, write the record last."""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from pretexeval.config.file import Config
from pretexeval.config.questions import Setting
from pretexeval.primitives.errors import InputError, count_noun
from pretexeval.primitives.literal_paths import read_parquet
from pretexeval.storage.files import read_stage_files
from pretexeval.storage.layout import failure_file
from pretexeval.storage.responses import IS_FAILED, ResponseStore
from pretexeval.storage.store import Store
from schemas.exchange import Completion, Prompt
from tasks.asking.model_session import ModelSession
from tasks.evaluation.asked_items import read_items
from tasks.evaluation.evaluation import Evaluation, hold_evaluation, plan_evaluation
from tasks.evaluation.items import select_items
from tasks.evaluation.missing_answers import AskingReport
from tasks.evaluation.recorded_rows import RecordedFile, RecordedRow, list_some
from tasks.evaluation.request_files import RequestFiles, write_requests
from tasks.evaluation.requests import hash_import
from tasks.evaluation.run_record import complete_run, is_complete
from tasks.evaluation.scoring import score_evaluation

MISSING = "missing in the imported file"
Group = tuple[object, ...]
Place = tuple[str, int]
"""Id and repeat."""


@dataclass(frozen=True)
class ImportReport:
    """The responses of a file for an edition, and the ids and groups that the file lacks."""

    n_responses: int = 0
    """Rows that have a response, each counted once."""
    n_errors: int = 0
    """Rows that say why there is no response."""
    missing: tuple[str, ...] = ()
    """Ids without a row for a repeat, in groups of questions of which the file has rows."""
    not_asked: Mapping[str, int] = field(default_factory=dict)
    """Group of which the file has no row -> its questions or samples. They are not part of the evaluation."""

    def render(self) -> str:
        """Return the report as lines of text."""
        lines = [
            f"{count_noun(self.n_responses, 'response')}, {count_noun(self.n_errors, 'row')} with an error"
        ]
        if self.missing:
            lines.append(list_some(list(self.missing), "ids without a row (counted as failed)"))
        lines += [f"not in the file: {group} ({n:,})" for group, n in self.not_asked.items()]
        return "\n".join(lines)


def match_rows(
    rows: Sequence[RecordedRow], tested: Mapping[str, Group]
) -> tuple[dict[Place, RecordedRow], ImportReport]:
    """Return the row of every id and repeat that the file should have, and the report.

    A missing row becomes one with an error. Groups without any row are left out. Equal rows count once.

    Args:
        tested: id of every tested question or sample -> its group, such as relation, type and form.

    Raises:
        InputError: the edition does not test an id, an id has different rows for one repeat, or repeats do
            not begin with 0.
    """
    distinct = dict.fromkeys(rows)
    unknown = sorted({row.row_id for row in distinct if row.row_id not in tested})
    n_rows = Counter((row.row_id, row.repeat) for row in distinct)
    contradictory = sorted({row_id for (row_id, _), n in n_rows.items() if n > 1})
    repeats = sorted({row.repeat for row in distinct})
    problems = [list_some(unknown, "ids that the edition does not test")] if unknown else []
    problems += [list_some(contradictory, "ids with different rows for one repeat")] if contradictory else []
    if repeats != list(range(len(repeats))):
        problems.append(f"repeats must be numbered 0, 1, 2 and so on; the file has {repeats}")
    if problems:
        lines = "\n".join(problems)
        raise InputError(
            f"the file does not fit the edition, and nothing was imported:\n{lines}\nCheck the edition, the "
            "ids and the option --pairs-per-relation"
        )
    asked = {tested[row.row_id] for row in distinct}
    given = {(row.row_id, row.repeat): row for row in distinct}
    expected = [(row_id, n) for row_id, group in tested.items() if group in asked for n in repeats]
    matched = {place: given.get(place) or RecordedRow(*place, error=MISSING) for place in expected}
    left_out = Counter(
        ", ".join(str(part) for part in group if part is not None)
        for group in tested.values()
        if group not in asked
    )
    n_responses = sum(row.error is None for row in matched.values())
    missing = sorted({row_id for row_id, n in expected if (row_id, n) not in given})
    report = ImportReport(
        n_responses, len(given) - n_responses, tuple(missing), dict(sorted(left_out.items()))
    )
    return matched, report


@dataclass(frozen=True)
class ImportedRun:
    """An imported evaluation."""

    evaluation: Evaluation
    report: ImportReport
    n_stored: int
    """Rows that were not stored before."""


def import_responses(
    config: Config, recorded: RecordedFile, edition_id: str, model_name: str, setting: Setting | None = None
) -> ImportedRun:
    """Import a file as the responses of a model of the configuration, whose engine is `imported`.

    Importing the same file again changes nothing. If the import is interrupted, importing again completes it.

    Args:
        setting: the setting in which the questions were asked; None: the file holds responses to samples.

    Raises:
        InputError: the edition is not complete, the file does not fit it, or a response differs from one that
            is stored under the same revision. Nothing is written then.
    """
    started = time.monotonic()
    store = Store(config.storage)
    store.pull_edition(edition_id)
    evaluation = plan_evaluation(config, edition_id, model_name, setting)
    store.pull_answers(edition_id, evaluation.model_id, evaluation.folder)
    found, report = _match_file(evaluation, recorded)
    with hold_evaluation(evaluation), ModelSession(evaluation.model, store) as session:
        fresh = _select_fresh(evaluation, found)
        _append(session.store, fresh, _list_prompts(evaluation), recorded.path)
        session.write_model_record()
        if not is_complete(evaluation):
            requests = write_requests(evaluation)
            counts = _count_requests(evaluation, requests)
            scored = score_evaluation(evaluation, requests)
            complete_run(evaluation, requests, scored, counts, time.monotonic() - started)
    store.push_evaluation_files(evaluation.folder)
    store.remove(failure_file(edition_id, model_name, setting))
    return ImportedRun(evaluation, report, len(fresh))


def _match_file(
    evaluation: Evaluation, recorded: RecordedFile
) -> tuple[dict[Place, RecordedRow], ImportReport]:
    files = list(evaluation.row_files().values())
    kind = evaluation.subject.kind
    stage = kind.stage
    if not files:
        raise InputError(f"edition {evaluation.edition_id} has no {stage.name}")
    if recorded.id_column != kind.id_column:
        raise InputError(
            f"{recorded.path} has the column {recorded.id_column}, but {stage.name} need {kind.id_column}"
        )
    tested = _list_groups(evaluation, read_stage_files(evaluation.root, files, stage))
    found, report = match_rows(recorded.rows, tested)
    if not kind.has_votes and any(row.repeat for row in recorded.rows):
        raise InputError(f"{recorded.path}: samples are asked once, so that repeat must be 0")
    return found, report


def _list_groups(evaluation: Evaluation, rows: pl.DataFrame) -> dict[str, Group]:
    """Return id -> group of the tested items: what a file can leave out as a whole."""
    parts = evaluation.subject.kind.read_items(rows).partition_by("relation", as_dict=True)
    tested = pl.concat(select_items(part, evaluation.model.pairs_per_relation) for part in parts.values())
    is_right = pl.col("answer").str.starts_with("T")
    right, wrong = pl.lit("right option offered"), pl.lit("wrong option offered")
    offer = pl.when(type="RQ").then(pl.when(is_right).then(right).otherwise(wrong))
    groups = tested.select("item_id", "relation", "group", offer.alias("offer"), "form")
    return {item_id: tuple(group) for item_id, *group in groups.iter_rows()}


def _select_fresh(evaluation: Evaluation, found: Mapping[Place, RecordedRow]) -> dict[Place, RecordedRow]:
    """Return the rows, by key and repeat, that are not stored, or of which only an error is stored.

    Raises:
        InputError: another response is stored.
    """
    rows = evaluation.store.read(["prompt_key", "repeat", "response"]).iter_rows()
    stored: dict[Place, str | None] = {(key, repeat): response for key, repeat, response in rows}
    fresh, changed = {}, []
    for (row_id, repeat), row in found.items():
        place = hash_import(evaluation.model_id, evaluation.subject.setting, row_id), repeat
        before = stored.get(place)
        if place not in stored or (before is None and row.error is None):
            fresh[place] = row
        elif row.error is None and row.response != before:
            changed.append(row_id)
    if changed:
        raise InputError(
            f"other responses are stored under revision {evaluation.model.revision!r} of "
            f"{evaluation.model.name!r}, and nothing was imported: "
            f"{list_some(sorted(set(changed)), 'ids')}. Import the file under another revision"
        )
    return fresh


def _append(
    store: ResponseStore, fresh: Mapping[Place, RecordedRow], prompts: Mapping[str, Prompt], source: Path
) -> None:
    """Store the rows as one file of responses per repeat.

    Args:
        prompts: id of a row -> the prompt that is stored with its response: without demonstrations.
    """
    served = f"imported from {source.name}"
    for repeat in sorted({repeat for _, repeat in fresh}):
        rows = {key: row for (key, n), row in fresh.items() if n == repeat}
        completions = [
            Completion(row.response, finish_reason=row.finish_reason, reasoning=row.reasoning, served=served)
            if row.error is None
            else Completion(None, status="error", error=row.error)
            for row in rows.values()
        ]
        shown = [prompts[row.row_id] for row in rows.values()]
        store.append(list(rows), shown, completions, repeat)


def _list_prompts(evaluation: Evaluation) -> dict[str, Prompt]:
    """Return id -> prompt of every tested question or sample."""
    prompts: dict[str, Prompt] = {}
    for asked in read_items(evaluation):
        built = evaluation.subject.show_imported(asked.items, evaluation.request_settings)
        prompts.update(zip(built.frame["item_id"], built.prompts, strict=True))
    return prompts


def _count_requests(evaluation: Evaluation, requests: RequestFiles) -> AskingReport:
    """Return the counts of the requests. The failed ones are never asked, so that none is open."""
    columns = ["prompt_key", "repeat"]
    asked = pl.concat(read_parquet(evaluation.root / ref.path, columns) for ref in requests.files)
    failed = evaluation.store.read([*columns, "status", "error"]).filter(IS_FAILED)
    n_errors = asked.join(failed, on=columns, how="semi").height
    return AskingReport(asked.height, n_reused=asked.height - n_errors, n_errors=n_errors)
