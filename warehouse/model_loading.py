"""Load a model and its answers. Every prompt is stored once, and its demonstrations once for all prompts."""

import json
from pathlib import Path

import duckdb

from pretexeval.storage.layout import MODEL
from pretexeval.storage.responses import ResponseStore
from schemas.stages import RESPONSES
from warehouse.catalogue import insert_row
from warehouse.records import insert_parquet, read_price, require_record

STORED_COLUMNS = ", ".join("prompt_number" if name == "prompt" else name for name in RESPONSES.names)
# Most models are asked the prompts of other models, which are found by their hashes. Only new ones are split.
KNOWN_PROMPTS = "create temp table if not exists known_prompts (prompt_number integer, prompt_hash ubigint)"
REMEMBER_PROMPTS = """
insert into known_prompts
select prompt_number, hash(prefix || rest)
from storage.prompts
inner join storage.prompt_prefixes using (prefix_number)
where prompt_number > (select coalesce(max(prompt_number), 0) from known_prompts)
"""
RECEIVE = """
create or replace temp table received as
select * exclude (prompt), hash(prompt) as prompt_hash
from (
    -- Files of answers may lack these columns.
    from (select null::varchar as reasoning, null::varchar as served where false)
    union all by name
    from read_parquet($files, hive_partitioning = false, filename = true, union_by_name = true)
)
"""
NEW_PROMPTS = "from received anti join known_prompts using (prompt_hash) limit 1"
# The demonstrations of a prompt end with the last blank line, which JSON writes as \\n\\n (chat messages).
SPLIT_PROMPTS = """
select
    string_split(prompt, if(contains(prompt, e'\\n\\n'), e'\\n\\n', '\\n\\n'))[-1] as rest,
    left(prompt, length(prompt) - length(rest)) as prefix
from read_parquet($files, hive_partitioning = false, union_by_name = true)
where hash(prompt) not in (select prompt_hash from known_prompts)
"""
ADD_PREFIXES = f"""
insert into storage.prompt_prefixes
select
    (select coalesce(max(prefix_number), 0) from storage.prompt_prefixes)
    + row_number() over (order by prefix),
    prefix
from (select distinct prefix from ({SPLIT_PROMPTS}))
anti join storage.prompt_prefixes using (prefix)
"""
ADD_PROMPTS = f"""
insert into storage.prompts
select
    (select coalesce(max(prompt_number), 0) from storage.prompts)
    + row_number() over (order by prefix_number, rest),
    prefix_number,
    rest
from (
    select distinct prefix_number, rest
    from ({SPLIT_PROMPTS})
    inner join storage.prompt_prefixes using (prefix)
)
"""
INSERT_RESPONSES = f"""
insert into storage.responses ({STORED_COLUMNS})
select {STORED_COLUMNS}
from received
inner join known_prompts using (prompt_hash)
qualify row_number() over (partition by prompt_key, repeat order by status desc, filename) = 1
order by prompt_number, repeat, prompt_key
"""
# What a run takes from the responses (answer_loading.py, token_usage.sql).
ANSWERED = """
select
    prompt_key,
    repeat,
    response,
    reasoning,
    status,
    error,
    n_prompt_tokens,
    n_completion_tokens,
    logprob_true,
    logprob_false
from storage.responses
where model_id = $model_id
"""
LIST_TOUCHED = f"""
with answered as ({ANSWERED}),

touched as (
    (from remembered except from answered)
    union
    (from answered except from remembered)
),

asked as (
    select edition_id, prompt_key, repeat from predictions where model_id = $model_id
    union all
    select edition_id, prompt_key, repeat from question_answers where model_id = $model_id
    union all
    select edition_id, prompt_key, repeat from unsure_predictions where model_id = $model_id
    union all
    select edition_id, prompt_key, repeat from anchor_predictions where model_id = $model_id
)

select distinct edition_id
from asked
semi join touched using (prompt_key, repeat)
"""


def load_model(connection: duckdb.DuckDBPyConnection, folder: Path) -> None:
    """Insert one row of models, and every response of the model that is stored in an intact file.

    If a prompt was asked again after a failure, the answer counts. If there are two answers, the one in the
    file whose name sorts first counts.

    Raises:
        RecordMissing: its record is missing or damaged.
    """
    paths = ResponseStore(folder.parent.parent, folder.name).list_files()
    model = require_record(folder / MODEL, model_id=folder.name)
    insert_row(
        connection,
        "models",
        [
            folder.name,
            model.get("name") or folder.name,
            model.get("engine"),
            json.dumps(model.get("identity"), sort_keys=True),
            model.get("known_heads"),
            model.get("taught_base") and json.dumps(model["taught_base"]),
            model.get("training_cutoff"),
            *read_price(model),
        ],
    )
    if paths:
        files = {"files": (RESPONSES, paths)}
        connection.execute(KNOWN_PROMPTS)
        connection.execute(REMEMBER_PROMPTS)
        insert_parquet(connection, RECEIVE, files)
        if connection.execute(NEW_PROMPTS).fetchone():
            # Texts of prefixes, 0.4 GB for one model on MedLAMA, are never kept: the files are read again.
            insert_parquet(connection, ADD_PREFIXES, files)
            insert_parquet(connection, ADD_PROMPTS, files)
            connection.execute(REMEMBER_PROMPTS)
        connection.execute(INSERT_RESPONSES)
        connection.execute("drop table received")


def remember_responses(connection: duckdb.DuckDBPyConnection, model_id: str) -> None:
    """Keep in the table `remembered` what the model answers in the warehouse, for `list_touched_editions`."""
    connection.execute(f"create or replace temp table remembered as {ANSWERED}", {"model_id": model_id})


def list_touched_editions(connection: duckdb.DuckDBPyConnection, model_id: str) -> set[str]:
    """Return the editions with a prompt whose response differs from that in the table `remembered`."""
    rows = connection.execute(LIST_TOUCHED, {"model_id": model_id}).fetchall()
    return {str(edition_id) for (edition_id,) in rows}


def drop_unused_prompts(connection: duckdb.DuckDBPyConnection) -> None:
    """Delete the prompts that no response belongs to, and then the prefixes that no prompt has."""
    for table, user, number in (
        ("prompts", "responses", "prompt_number"),
        ("prompt_prefixes", "prompts", "prefix_number"),
    ):
        connection.execute(
            f"delete from storage.{table} where {number} not in (select {number} from storage.{user})"
        )
