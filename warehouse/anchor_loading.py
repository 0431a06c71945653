"""Load what models answered to anchors: fixed pairs that are asked again in every period of a schedule."""

from pathlib import Path

import duckdb

from config.schedule import find_first_day
from schemas.stages import PREDICTIONS, REQUESTS
from storage.layout import RUN
from warehouse.answer_loading import list_run_files, note_how_asked, require_answers, require_model
from warehouse.catalogue import insert_row
from warehouse.records import (
    check_files,
    check_rows,
    insert_parquet,
    parse_time,
    read_price,
    require_record,
)

INSERT_PREDICTIONS = """
insert into anchor_predictions
with answers as (
    select prompt_key, repeat, response
    from storage.responses
    where model_id = $model_id
)

select
    $edition_id, $period, $model_id, p.sample_id, p.repeat, p.scoring_policy, p.prompt_key, p.prediction,
    p.is_correct, answers.response, p.error
from read_parquet($predictions) as p
left join answers on p.prompt_key = answers.prompt_key and p.repeat = answers.repeat and p.error is null
order by p.scoring_policy, p.repeat, p.relation, p.sample_id
"""


def load_anchor_run(connection: duckdb.DuckDBPyConnection, folder: Path) -> None:
    """Insert one row of anchor_runs, and the predictions of one model on anchors in one period."""
    period, model_id = folder.parent.name, folder.name
    key = {"edition_id": folder.parents[1].name, "period": period, "model_id": model_id}
    run = require_record(folder / RUN, edition_id=key["edition_id"], model_id=model_id)
    require_model(connection, folder)
    check_files(folder, run, RUN)
    counts = [run[name] for name in ("n_samples", "n_asked", "n_errors")]
    finished_at = parse_time(folder / RUN, run, "finished_at")
    circumstances = [finished_at, run["max_error_rate"], run["served"], *read_price(run)]
    # The last two columns are filled from the requests.
    row = [*key.values(), find_first_day(period), *counts, *circumstances, None, None]
    insert_row(connection, "anchor_runs", row)
    files = list_run_files(folder, run, (REQUESTS, PREDICTIONS))
    predictions = {PREDICTIONS.name: files[PREDICTIONS.name]}
    n_rows = insert_parquet(connection, INSERT_PREDICTIONS, predictions, **key)
    check_rows(folder, run, PREDICTIONS, n_rows)
    note_how_asked(connection, "anchor_runs", files, key)
    require_answers(connection, "anchor_predictions", folder, run, key)
