"""Reader of MedLAMA (Meng et al., ACL 2022): `medlama.parquet`, or the folder of CSV files as published.

The published folder (`data/medlama/2021AA`) has, per relation, `<relation>_1000.csv` and
`<relation>_<n>_hard.csv`, which repeats some of its rows. The columns are head_cui, head_name, rel,
tail_cuis_list, tail_names_list, tail_names, tail_cuis, tail_cuis_len, tail_names_len, avg_match and
avg_rouge_l. The reader uses head_cui, head_name, rel, tail_names and tail_cuis. tail_names and tail_cuis are
joined by " || ", and entry i of tail_cuis is the id of entry i of tail_names. If rel is missing, the file
name gives the relation.

The Parquet file has the columns relation, head_cui, head_name, tail_names and tail_cuis; the last two are
lists.
"""

import re
from pathlib import Path

import polars as pl

from pretexeval.knowledge.base import LeftOut
from pretexeval.knowledge.capitals import lower_titles
from pretexeval.knowledge.rows import ALIAS_SEPARATOR, Source, build_source_rows
from pretexeval.knowledge.tables import ENDS, read_delimited, read_parquet_columns, split_lists, store_as_text
from pretexeval.primitives.errors import InputError

# The papers leave these two out, because they are the inverses of two other relations.
INVERSE_RELATIONS = frozenset({"gene_associated_with_disease", "gene_product_encoded_by_gene"})
_COLUMNS = ("head_name", "tail_names", "head_cui", "tail_cuis")
_NAMES = dict(zip(_COLUMNS, ENDS, strict=True))
_FILE_NAME = re.compile(r"(?P<relation>.+?)(?:_\d+(?P<hard>_hard)?)?$")


def read_medlama(path: Path) -> Source:
    """Return the unchecked rows of all relations of MedLAMA, with names as they stand within a sentence.

    Raises:
        InputError: ``path`` is not MedLAMA, or a file cannot be read.
    """
    if path.is_dir():
        return _read_folder(path)
    if path.suffix.lower() == ".parquet":
        return Source(lower_titles(_split_tails(path, _read_parquet(path))))
    raise InputError(f"{path} is not MedLAMA: give medlama.parquet or the published folder of CSV files")


def _read_folder(folder: Path) -> Source:
    """Return the rows of the full file of each relation, or of its `_hard` file if there is no full one."""
    parts = {p: _parse_name(p) for p in sorted(folder.glob("*.csv")) if p.name != "prompts.csv"}
    full = {relation for relation, is_hard in parts.values() if not is_hard}
    read = [p for p, (relation, is_hard) in parts.items() if not (is_hard and relation in full)]
    if not read:
        raise InputError(
            f"{folder} holds no CSV file of MedLAMA: give the folder of <relation>_1000.csv files "
            "(as published, data/medlama/2021AA) or medlama.parquet"
        )
    skipped = (LeftOut(p.name, "file", "repeats rows of the full file") for p in parts.keys() - read)
    frames = [_split_tails(p, _read_csv(p)) for p in read]
    return Source(lower_titles(pl.concat(frames)), tuple(sorted(skipped, key=lambda item: item.where)))


def _parse_name(path: Path) -> tuple[str, bool]:
    """Return the relation in a file name, and whether it is a `_hard` file."""
    match = _FILE_NAME.match(path.stem)
    return (match["relation"], match["hard"] is not None) if match else (path.stem, False)


def _read_parquet(path: Path) -> pl.DataFrame:
    frame = read_parquet_columns(path, ("relation", *_COLUMNS)).rename(_NAMES)
    return store_as_text(path, frame).with_row_index("row").with_columns(problem=pl.lit(None, pl.String))


def _read_csv(path: Path) -> pl.DataFrame:
    frame = read_delimited(path, _COLUMNS, ("rel",)).rename(_NAMES)
    relation = pl.col("rel") if "rel" in frame.columns else pl.lit(_parse_name(path)[0])
    return frame.with_columns(relation=relation)


def _split_tails(path: Path, frame: pl.DataFrame) -> pl.DataFrame:
    """One row per head and tail. A row whose lists do not match stays one row, with a problem."""
    return build_source_rows(path, split_lists(frame, {"tail": ALIAS_SEPARATOR}))
