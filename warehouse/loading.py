"""Fill the tables of an empty warehouse from the Parquet files and records under a root."""

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import duckdb
import polars as pl

from pretexeval.config.schedule import find_first_day
from pretexeval.primitives.errors import InputError
from pretexeval.primitives.literal_paths import escape_pattern
from pretexeval.storage.layout import FAILURES_FOLDER, responses_folder, rewordings_record, withdrawal_record
from pretexeval.storage.records import find_record, set_aside
from pretexeval.storage.withdrawals import find_withdrawal
from schemas.columns import Stage
from schemas.stages import RESPONSES, TRIPLETS
from warehouse.answers import load_evaluation
from warehouse.catalogue import STAGE_TABLES, create_tables, create_views, insert_rows
from warehouse.checks import load_checks
from warehouse.records import parse_time, read_price
from warehouse.sources import Sources

# What only editions with triplets have. The manifest of another edition holds the defaults of these settings.
TRIPLET_COLUMNS = ("negatives", "pool", "rephraser", "methods")
# The edition of each file.
OWNED = "inner join owners on filename = path"
READ_RESPONSES = """
read_parquet($files, hive_partitioning = false, filename = true, file_row_number = true, union_by_name = true)
"""
INSERT_RESPONSES = f"""
insert into storage.responses by name
select {", ".join(name for name in RESPONSES.names if name != "prompt")}, hash(prompt) as prompt_hash
from (
    -- Files of answers may lack these columns.
    from (select null::varchar as reasoning, null::varchar as served where false)
    union all by name
    from {READ_RESPONSES}
)
"""
# If a prompt was asked again after a failure, the answer counts. If there are two answers, the one in the
# file whose name sorts first counts, which was inserted first.
DELETE_REPEATED = """
delete from storage.responses
where rowid in (
    select rowid
    from storage.responses
    where hash(model_id, prompt_key, repeat) in (
        select hash(model_id, prompt_key, repeat) as answered
        from storage.responses
        group by answered
        having count(*) > 1
    )
    qualify row_number() over (partition by model_id, prompt_key, repeat order by status desc, rowid) > 1
)
"""
# Most models are asked the prompts of other models, whose texts are then not read again.
NEW_PROMPTS = """
from storage.responses anti join storage.prompts using (prompt_hash) where model_id = $model_id limit 1
"""
INSERT_PROMPTS = f"""
insert into storage.prompts
select prompt_hash, prompt
from {READ_RESPONSES} as answered
inner join (
    select hash(prompt) as prompt_hash, min((filename, file_row_number)) as place
    from {READ_RESPONSES}
    where hash(prompt) not in (select prompt_hash from storage.prompts)
    group by hash(prompt)
) as firsts on (answered.filename, answered.file_row_number) = place
"""
FAILURE_REMEDY = "the next evaluation of this model writes it again if it fails"


def load_warehouse(connection: duckdb.DuckDBPyConnection, sources: Sources) -> None:
    """Create all tables and views in an empty database, with everything that is sound under a root.

    What does not fit its table is left out, and added to the problems of the sources.

    Raises:
        duckdb.Error: a file cannot be read, or the database cannot be written.
    """
    create_tables(connection)
    for load, parts in ((_load_edition, sources.editions), (_load_model, sources.models)):
        for name in list(parts):
            try:
                load(connection, sources, name)
            except InputError as error:
                sources.problems.append(str(error))
                del parts[name]
    _load_stages(connection, sources)
    _load_responses(connection, sources)
    for evaluation in sources.evaluations:
        if evaluation.edition_id in sources.editions and evaluation.model_id in sources.models:
            sources.note_problem(partial(load_evaluation, connection, evaluation))
    for edition_id in sources.editions:
        sources.note_problem(partial(load_checks, connection, sources.root, edition_id))
        _load_failures(connection, sources.root, edition_id)
    create_views(connection, sources.root)


def _load_edition(connection: duckdb.DuckDBPyConnection, sources: Sources, edition_id: str) -> None:
    """Insert one row of editions, and its label risks."""
    root, manifest = sources.root, sources.editions[edition_id]
    configuration = manifest.get("configuration")
    withdrawn = find_withdrawal(root, edition_id) or {}
    path = root / rewordings_record(edition_id)
    reviewed = find_record(path, "import the sheet again", edition_id=edition_id)
    wrong_texts = (reviewed or manifest).get("wrong_texts")
    row = manifest | {
        "n_drawn_pairs": manifest.get("n_pairs"),
        "configuration": json.dumps(configuration, sort_keys=True),
        "wrong_texts": json.dumps(wrong_texts) if wrong_texts else None,
        "is_anchors": "anchor_pairs" in (configuration or {}),
        "period_start": find_first_day(str(manifest.get("label"))),
        "withdrawn_at": parse_time(root / withdrawal_record(edition_id), withdrawn, "withdrawn_at"),
        "withdrawal_reason": withdrawn.get("reason"),
    }
    if edition_id not in sources.files.get(TRIPLETS.name, {}).values():
        row.update(dict.fromkeys(TRIPLET_COLUMNS))
    insert_rows(connection, "editions", [row])
    sizes = manifest.get("profile", {}).get("relations", {})
    risks = [
        {"edition_id": edition_id, "relation": relation, **balance, **sizes.get(relation, {})}
        for relation, balance in manifest.get("balance", {}).items()
    ]
    insert_rows(connection, "label_risks", risks)


def _load_model(connection: duckdb.DuckDBPyConnection, sources: Sources, model_id: str) -> None:
    """Insert one row of models."""
    model = sources.models[model_id]
    row = model | {
        "name": model.get("name") or model_id,
        "identity": json.dumps(model.get("identity"), sort_keys=True),
        "taught_base": model.get("taught_base") and json.dumps(model["taught_base"]),
        **read_price(model),
    }
    insert_rows(connection, "models", [row])


def _load_stages(connection: duckdb.DuckDBPyConnection, sources: Sources) -> None:
    """Insert the rows of all stages of editions, with what is measured on them."""
    owned = [
        (str(path), edition_id)
        for name, files in sources.files.items()
        if name != RESPONSES.name
        for path, edition_id in files.items()
        if edition_id in sources.editions
    ]
    connection.register("owners", pl.DataFrame(owned, ["path", "owner"], orient="row").to_arrow())
    for table, stages in STAGE_TABLES.items():
        files = {stage.name: list(map(escape_pattern, sources.files.get(stage.name, ()))) for stage in stages}
        read = [stage for stage in stages if files[stage.name]]
        if stages[0] in read:
            connection.execute(_write_insert(table, read), {stage.name: files[stage.name] for stage in read})
    connection.unregister("owners")


def _write_insert(table: str, stages: Sequence[Stage]) -> str:
    """Return the statement that fills a table from the files of its stages, which are its parameters."""
    first, *others = stages
    key, known = ", ".join(first.key), {"edition_id", *first.names}
    columns = ", ".join(name for name in first.names if name != "edition_id")
    rows = [f"(select owner, {columns} from storage.read_files(${first.name}) {OWNED}) as own"]
    for stage in others:
        added = ", ".join(name for name in stage.names if name not in known)
        select = f"select owner, {key}, {added} from storage.read_files(${stage.name}) {OWNED}"
        rows.append(f"left join ({select}) as {stage.name} using (owner, {key})")
    return f"insert into {table} by name select * rename (owner as edition_id) from {' '.join(rows)}"


def _load_responses(connection: duckdb.DuckDBPyConnection, sources: Sources) -> None:
    """Insert every response of all models, and the text of every prompt once."""
    files: dict[str, list[str]] = {}
    for path, model_id in sources.files.get(RESPONSES.name, {}).items():
        if model_id in sources.models:
            files.setdefault(model_id, []).append(escape_pattern(path))
    if not files:
        return
    connection.execute(INSERT_RESPONSES, {"files": [path for paths in files.values() for path in paths]})
    connection.execute(DELETE_REPEATED)
    for model_id, paths in files.items():
        if connection.execute(NEW_PROMPTS, {"model_id": model_id}).fetchone():
            connection.execute(INSERT_PROMPTS, {"files": paths})


def _load_failures(connection: duckdb.DuckDBPyConnection, root: Path, edition_id: str) -> None:
    """Insert one row per evaluation of the edition whose last attempt ended with an error.

    A damaged record is set aside. The failures in a setting, or in a period of anchors, are in a folder with
    its name. Those of a withdrawn edition are not loaded.
    """
    folder = root / FAILURES_FOLDER / edition_id
    if find_withdrawal(root, edition_id) is not None:
        return
    for path in sorted([*folder.glob("*.json"), *folder.glob("*/*.json")]):
        record = find_record(path, FAILURE_REMEDY, edition_id=edition_id, model=path.stem)
        if record is None:
            continue
        setting = None if path.parent == folder else path.parent.name
        try:
            failed_at = parse_time(path, record, "failed_at")
            insert_rows(connection, "failures", [record | {"setting": setting, "failed_at": failed_at}])
        except InputError as error:
            set_aside(path, error, FAILURE_REMEDY)


def describe_lost_replies(connection: duckdb.DuckDBPyConnection, root: Path) -> list[str]:
    """Return which writers lack replies behind the attempts of an edition, because a file of them was lost.

    The texts themselves are in the stage attempts, so nothing is left out of the warehouse.
    """
    lost = connection.execute(
        "with replies as (select model_id, prompt_key from storage.responses) "
        "select rephraser, count(distinct prompt_key) "
        "from (select rephraser, rephraser as model_id, prompt_key from attempts) "
        "semi join models using (model_id) anti join replies using (model_id, prompt_key) "
        "group by rephraser order by rephraser"
    ).fetchall()
    return [
        f"{root / responses_folder(model_id)}: {n_lost:,} replies behind attempts of editions are lost, "
        "because a file of them was lost; the texts are kept in the editions. If you have a backup, restore "
        "the file"
        for model_id, n_lost in lost
    ]
