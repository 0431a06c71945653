"""Reader of the result of a query: DuckDB selects triplets from files as somebody else publishes them.

The query is one SELECT, in which `$path` stands for the path of the base. It runs in a database in memory
that can read this file, or the files in this folder, and nothing else: it cannot write, reach the network,
load an extension or change a setting. Ontologies are read by a query that is part of the package.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import polars as pl

import configs
from pretexeval.knowledge.base import LeftOut
from pretexeval.knowledge.files import TRIPLET, find_columns, quote_name, read_bytes, read_text
from pretexeval.knowledge.rows import BLANKS, Source, build_source_rows
from pretexeval.knowledge.tables import DENIALS, OPTIONAL, find_denied, split_lists, store_as_text
from pretexeval.primitives.errors import InputError, count_noun
from pretexeval.primitives.literal_paths import escape_pattern

SETTINGS = {
    # Tables of the query are never variables of this program.
    "python_enable_replacements": "false",
    "autoload_known_extensions": "false",
    "autoinstall_known_extensions": "false",
    "enable_external_access": "false",
    "lock_configuration": "true",
}
# Every process reads the base, and the name of the edition has a hash of its rows.
OTHER_EDITION = ", and every run would make and ask another edition"
# DuckDB's JSON of a query: the names of functions, and of columns without that of a table.
_NAME = re.compile(r'(?<!\\)"(?:function_name":|column_names":\[)"(\w+)"')
_SAMPLE = '"repeatable":false'
CLOCK = {"current_date", "current_time", "current_timestamp", "localtime", "localtimestamp"}
ONTOLOGIES = Path(configs.__file__).parent / "knowledge" / "obo.sql"
NOT_NAMED = "the ontology has no name (label) of one of the two terms"
# The lines of a message of DuckDB that say what is wrong; the others show the query, or repeat the settings.
N_LINES = 3
REMEDIES = {
    r"support the encoding|not \S+ encoded|valid UTF-8": "a query reads UTF-8, UTF-16 and latin-1; set "
    'encoding in layout with format = "table" for others, or convert the file: '
    "iconv -f gb18030 -t utf-8 OLD > NEW",
    r"in the \w+ extension": 'a query cannot load it; read a workbook with format = "table", and save other '
    "data as CSV, JSON or Parquet",
    r"Malformed JSON": "the file is cut, or is no JSON; download or export it again",
    r"No files found that match": "the query reads files of other names: copy it, and name those of the base",
    r'syntax error at or near "\$"': "write read_csv($path), or another function that reads files",
}
"""The next step by the pattern of DuckDB's message."""
ROWS_AT_ONCE = 1_000_000
"""Rows of the result that are fetched at once."""


def read_query(query: Path, path: Path, relations: Sequence[str] = ()) -> Source:
    """Return the unchecked rows that the query selects. Other columns than those of a table are ignored.

    Args:
        query: file with the SELECT.
        path: file or folder that it may read.
        relations: those whose rows are returned, with the rows that name no relation; all if it is empty.

    Raises:
        InputError: see `select_columns`; or a column is missing.
    """
    rows = select_columns(query, path, TRIPLET, (*OPTIONAL, "since", *DENIALS), relations)
    rows = split_lists(rows.with_columns(problem=find_denied(rows.columns)), {})
    return Source(build_source_rows(query, rows))


def select_columns(
    query: Path, path: Path, required: Sequence[str], optional: Sequence[str], relations: Sequence[str] = ()
) -> pl.DataFrame:
    """Return the named columns that the query selects, as text.

    Args:
        relations: if it is not empty, only their rows and those without a relation are returned.

    Raises:
        InputError: the file is not one SELECT, DuckDB refuses it, or a column is missing or of a wrong type.
    """
    _require_plain_folders(path)
    # DuckDB writes there what does not fit into memory. Its default is a folder in the current one.
    with (
        TemporaryDirectory() as spilled,
        duckdb.connect(config={"temp_directory": spilled}) as connection,
    ):
        _confine(connection, path)
        select = _read_select(query, connection)
        parameters: dict[str, object] = {"path": escape_pattern(path.resolve())}
        try:
            found = connection.execute(f"describe {select}", parameters).fetchall()
            columns = [name for name, *_ in found]
            names = find_columns(query, columns, required, optional)
            wanted = [f"{quote_name(found)} as {name}" for name, found in names.items()]
            chosen = f"select {', '.join(wanted) or '*'} from ({select})"
            if relations:
                chosen += (
                    " where coalesce(regexp_replace(trim(relation), $blanks, '_', 'g'), '') in $relations"
                )
                parameters |= {"relations": ["", *relations], "blanks": BLANKS}
            parts = list(_fetch_rows(query, connection, chosen, parameters))
            again = _fetch_rows(query, connection, chosen, parameters)
            if sum(map(_hash_rows, parts)) != sum(map(_hash_rows, again)):
                raise InputError(
                    f"{query} selects other rows every time it runs{OTHER_EDITION}; limit needs an order "
                    "by, and so do any_value, first, list and string_agg"
                )
        except duckdb.Error as error:
            reason = _shorten(error)
            if isinstance(error, duckdb.PermissionException):
                remedy = (
                    "write $path || '/*.parquet', or the extension of its files"
                    if path.is_dir()
                    else "set path to the folder, if the query reads several files"
                )
                raise InputError(
                    f"{query} may read only {path}, which it names as $path: {remedy}: {reason}"
                ) from error
            raise InputError(f"{query}: DuckDB cannot run the query on {path}: {reason}") from error
    return pl.concat(parts)


def _fetch_rows(
    query: Path, connection: duckdb.DuckDBPyConnection, select: str, parameters: Mapping[str, object]
) -> Iterator[pl.DataFrame]:
    """Yield the rows as text, in batches, which need less memory than one table and its copy as text."""
    batches = connection.sql(select, params=dict(parameters)).to_arrow_reader(ROWS_AT_ONCE)
    yield store_as_text(query, pl.DataFrame(schema=pl.Schema(batches.schema)))
    for batch in batches:
        yield store_as_text(query, pl.DataFrame(batch))


def _hash_rows(rows: pl.DataFrame) -> int:
    """Return a sum over the rows, which is the same in every order."""
    return int(rows.hash_rows().cast(pl.Int128).sum())


def _require_plain_folders(path: Path) -> None:
    """Raise InputError if DuckDB would take a folder of the path for a column of the file."""
    folder = path.resolve() if path.is_dir() else path.resolve().parent
    if found := [name for name in folder.parts if "=" in name]:
        raise InputError(
            f"{path}: DuckDB takes the folder {found[0]!r} for a column and its value; rename the folder, or "
            "move the files that the query reads"
        )


def _confine(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Let the connection read this file, or the files in this folder, and nothing else."""
    kind, end = ("allowed_directories", "/") if path.is_dir() else ("allowed_paths", "")
    # DuckDB checks the pattern that it is given, and then each file that it finds.
    names = {str(path.resolve()), escape_pattern(path.resolve())}
    quoted = ("'" + f"{name}{end}".replace("'", "''") + "'" for name in names)
    connection.execute(f"set {kind} = [{', '.join(quoted)}]")
    for setting, value in SETTINGS.items():
        connection.execute(f"set {setting} = {value}")


def _read_select(query: Path, connection: duckdb.DuckDBPyConnection) -> str:
    """Return the only statement of the file, in parentheses so that it can be part of another one."""
    try:
        statements = connection.extract_statements(read_text(query))
    except duckdb.Error as error:
        raise InputError(f"{query}: {_shorten(error)}") from error
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise InputError(f"{query} has to be one SELECT: remove every other statement")
    if statements[0].named_parameters != {"path"}:
        names = ", ".join(f"${name}" for name in sorted(statements[0].named_parameters)) or "none"
        raise InputError(
            f"{query} has the parameters {names}: write $path, and no other, for path of [knowledge]"
        )
    text = _cut_end(statements[0].query)
    if changing := _find_changing(text, connection):
        raise InputError(
            f"{query} uses {', '.join(changing)}, so its rows change{OTHER_EDITION}; write a date "
            "as it is, and choose a part of the rows with `hash(head) % 10 = 0`"
        )
    return f"(\n{text}\n)"


def _find_changing(select: str, connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Return the functions and clauses that make the result of a query depend on chance or on the clock."""
    (tree,) = connection.execute("select json_serialize_sql($1)", [select]).fetchone() or ("",)
    used = {name.lower() for name in _NAME.findall(tree)}
    of_functions = "select function_name from duckdb_functions() where stability <> 'CONSISTENT'"
    changing = {name for (name,) in connection.execute(of_functions).fetchall()} | CLOCK
    return sorted(used & changing) + (["a sample without `repeatable`"] if _SAMPLE in tree else [])


def _cut_end(statement: str) -> str:
    """Return the statement without its first semicolon and what follows it."""
    # The offsets of DuckDB's tokens count bytes.
    encoded = statement.encode()
    ends = (offset for offset, _ in duckdb.tokenize(statement) if encoded[offset : offset + 1] == b";")
    return encoded[: next(ends, None)].decode()


def _shorten(error: duckdb.Error) -> str:
    """Return the first lines of a message; where a remedy is known, it replaces DuckDB's advice."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    reason = " ".join(lines[:N_LINES])
    remedies = (text for sign, text in REMEDIES.items() if re.search(sign, reason))
    advised = next(remedies, None)
    return reason if advised is None else f"{reason.partition('. ')[0]}: {advised}"


def is_ontology(path: Path) -> bool:
    """Return whether a file is in OBO, as its name tells, or in the JSON of obographs."""
    name = path.name.lower().removesuffix(".gz")
    if name.endswith(".json") and path.is_file():
        return re.search(rb'"graphs"\s*:\s*\[', read_bytes(path)) is not None
    return name.endswith(".obo")


def read_ontology(path: Path, encoding: str = "utf-8") -> Source:
    """Return the unchecked facts of an ontology; links with an end that it does not name are left out.

    Raises:
        InputError: the file cannot be read, or has no facts.
    """
    links = read_links(path, encoding)
    is_named = pl.all_horizontal(pl.col("head", "tail").is_not_null())
    examples = links.filter(~is_named).sort("relation", "head_id", "tail_id", nulls_last=True)
    ends = (pl.coalesce(end, f"{end}_id", pl.lit("nothing")).first() for end in ("head", "tail"))
    counted = examples.group_by("relation", maintain_order=True).agg(*ends, n=pl.len())
    left_out = tuple(
        LeftOut(path.name, f"{count_noun(n, 'row')} of {relation}, such as {head} → {tail}", NOT_NAMED)
        for relation, head, tail, n in counted.iter_rows()
    )
    if left_out and len(examples) == len(links):
        raise InputError(f"{path}: {left_out[0].what}: {NOT_NAMED}: export it with its labels")
    return Source(build_source_rows(path, links.filter(is_named)), left_out)


def read_links(path: Path, encoding: str = "utf-8") -> pl.DataFrame:
    """Return the links of an ontology, as configs/knowledge/obo.sql selects them.

    Raises:
        InputError: the file cannot be read.
    """
    # DuckDB unpacks no texts, and does not know their encodings.
    with TemporaryDirectory() as folder:
        plain = Path(folder) / path.name
        plain.write_text(read_text(path, encoding), encoding="utf-8", newline="")
        return select_columns(ONTOLOGIES, plain, TRIPLET, OPTIONAL)
