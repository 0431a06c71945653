"""The response store: the answers of models, stored unchanged, so that no prompt is asked twice.

Each model has a folder of Parquet files, each with the answers of a minute or less. The name of a file holds
the checksum of its bytes and the number of its answers, so a truncated or changed file is noticed: it is
reported and renamed, and its prompts are asked again.
"""

import hashlib
import io
import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from pretexeval.primitives.hashing import checksum_file
from pretexeval.primitives.literal_paths import scan_parquet_files
from pretexeval.primitives.untrusted_text import read_count, read_float, replace_surrogates
from pretexeval.storage.files import build_stage_table, write_bytes
from pretexeval.storage.layout import responses_folder
from schemas.exchange import PROMPT_TOO_LONG, REFUSED_ERROR, Completion, Prompt
from schemas.stages import RESPONSES

logger = logging.getLogger(__name__)


# Digits of the checksum in a file's name.
N_DIGITS = 16
KEYS = ["prompt_key", "repeat"]
# A refusal is an answer, which scoring reads from the error.
IS_FAILED = (pl.col("status") == "error") & ~pl.col("error").str.contains(REFUSED_ERROR).fill_null(False)
IS_TOO_LONG = pl.col("error").str.starts_with(PROMPT_TOO_LONG).fill_null(False)
IS_SETTLED = ~IS_FAILED | IS_TOO_LONG
# Stored answers are kept for ever. Files may lack the columns reasoning and served, and names the number.
_NAME = re.compile(r"part-(?P<checksum>[0-9a-f]+)(-(?P<n_answers>\d+))?\.parquet")


class ResponseStore:
    """The responses of one model under ``root``."""

    def __init__(self, root: Path, model_id: str, send: Callable[[str], None] = lambda _: None) -> None:
        """Locate the store without reading or writing anything.

        Args:
            send: gets the path under the root of each file that was appended (`Store.open_responses`).
        """
        self.model_id = model_id
        self._send = send
        self.folder = root / responses_folder(model_id)

    @staticmethod
    def read_checksum(name: str) -> str | None:
        """Return the first digits of the checksum of a file of responses; None for other files."""
        match = _NAME.fullmatch(name)
        return match["checksum"] if match else None

    @property
    def is_empty(self) -> bool:
        """Return whether the model never answered anything."""
        return not any(self.folder.glob("part-*.parquet"))

    def append(
        self,
        keys: Sequence[str],
        prompts: Sequence[Prompt],
        completions: Sequence[Completion],
        repeat: int = 0,
    ) -> Path:
        """Write responses atomically as a new file, send it, and return its path.

        A value that its column cannot hold becomes null, so that one response never costs another one.
        """
        columns = {
            "prompt_key": keys,
            "model_id": [self.model_id] * len(keys),
            "repeat": [repeat] * len(keys),
            "prompt": [replace_surrogates(prompt.text) for prompt in prompts],
            **{field.name: _fit_column(field.name, completions) for field in fields(Completion)},
        }
        schema = {f.name: pl.String for f in RESPONSES.schema} | {
            "repeat": pl.Int16,
            "n_prompt_tokens": pl.Int32,
            "n_completion_tokens": pl.Int32,
            "logprob_true": pl.Float64,
            "logprob_false": pl.Float64,
        }
        table = build_stage_table(pl.DataFrame(columns, schema=schema), RESPONSES)
        content = io.BytesIO()
        pq.write_table(table, content, compression="zstd")
        name = hashlib.sha256(content.getbuffer()).hexdigest()[:N_DIGITS]
        path = self.folder / f"part-{name}-{len(keys)}.parquet"
        write_bytes(path, content.getbuffer())
        self._send(f"{responses_folder(self.model_id)}/{path.name}")
        return path

    def list_files(self) -> list[Path]:
        """Return the intact files, sorted by name; report each damaged file and rename it to `.damaged`."""
        intact = []
        for path in sorted(self.folder.glob("part-*.parquet")):
            if checksum_file(path)[:N_DIGITS] == self.read_checksum(path.name):
                intact.append(path)
            else:
                _set_aside(path)
        return intact

    def read(self, columns: Sequence[str] | None = None, keys: pl.LazyFrame | None = None) -> pl.DataFrame:
        """Return one row per (prompt_key, repeat): the response if there is one, else an error.

        Args:
            keys: prompt_key of the responses that are read; None: all.
        """
        names = list(columns or RESPONSES.names)
        files = self.list_files()
        if not files:
            return RESPONSES.empty.select(names)
        wanted = list(dict.fromkeys([*KEYS, *names, "status"]))
        rows = scan_response_files(files).select(wanted)
        if keys is not None:
            rows = rows.join(keys, on="prompt_key", how="semi", maintain_order="left")
        return prefer_responses(rows.collect(engine="streaming")).select(names)

    def read_failed(self) -> pl.DataFrame:
        """Return prompt_key, repeat and is_open of the prompts that were asked and have no answer.

        A refusal is an answer. The next run asks those again that are open: all but those that are too long.
        """
        rows = self._scan()
        failed = rows.filter(IS_FAILED).group_by(KEYS).agg(is_open=~IS_TOO_LONG.any()).collect()
        answered = rows.filter(~IS_FAILED).join(failed.lazy(), on=KEYS, how="semi").select(KEYS)
        return failed.join(answered.collect(engine="streaming"), on=KEYS, how="anti")

    def read_settled_keys(self, repeat: int = 0) -> set[str]:
        """Return the keys of the prompts whose repeat is answered or refused, or that are too long.

        The next run asks every other failed prompt again.
        """
        settled = self._scan().filter(IS_SETTLED, repeat=repeat).select("prompt_key")
        return set(settled.collect(engine="streaming")["prompt_key"])

    def select_open(
        self, prompts: pl.DataFrame, repeat: int = 0, *, asks_failed: bool = True
    ) -> pl.DataFrame:
        """Return the rows whose prompt is to be asked for this repeat.

        The memory that this takes depends on the number of rows, and not on the number of stored answers.

        Args:
            prompts: a column prompt_key, and others.
            asks_failed: whether prompts that failed are asked again, unless they are too long.
        """
        is_done = IS_SETTLED if asks_failed else pl.lit(value=True)
        stored = self._scan().filter(is_done, repeat=repeat).select("prompt_key")
        keys = prompts.lazy().select("prompt_key")
        done = stored.join(keys, on="prompt_key", how="semi").collect(engine="streaming")
        return prompts.join(done, on="prompt_key", how="anti", maintain_order="left")

    def list_served(self) -> list[str]:
        """Return the names of all that answered: servers, models or engines."""
        served = self._scan().select("served").unique().drop_nulls()
        return served.collect(engine="streaming")["served"].sort().to_list()

    def _scan(self) -> pl.LazyFrame:
        files = self.list_files()
        return scan_response_files(files) if files else RESPONSES.empty.lazy()


def scan_response_files(paths: Sequence[Path]) -> pl.LazyFrame:
    """Return the rows of files of responses as one query: a model has hundreds of files after a year."""
    return scan_parquet_files(paths, RESPONSES.empty.schema)


def prefer_responses(rows: pl.DataFrame) -> pl.DataFrame:
    """Return one row per (prompt_key, repeat): the first response if there is one, else the first error."""
    return rows.sort("status", descending=True, maintain_order=True).unique(
        KEYS, keep="first", maintain_order=True
    )


def _set_aside(path: Path) -> None:
    """Rename a damaged file, and say which it is and how many answers are lost with it."""
    aside = path.with_suffix(".damaged")
    logger.warning(
        "%s is damaged (%s): prompts that need them are asked again. To keep these answers, end this run, "
        "restore the file from a backup, and delete %s",
        path,
        _count_answers(path),
        aside.name,
    )
    path.rename(aside)


def _count_answers(path: Path) -> str:
    match = _NAME.fullmatch(path.name)
    if match and match["n_answers"]:
        return f"{int(match['n_answers']):,} answers"
    try:
        return f"{pq.read_metadata(path).num_rows:,} answers"
    except (pa.ArrowException, OSError, ValueError):
        return f"an unknown number of answers, {path.stat().st_size:,} bytes"


def _fit_column(name: str, completions: Sequence[Completion]) -> list[object]:
    """Return this value of each completion, or None if its column cannot hold it."""
    fit: Callable[[object], object] = _read_text
    if name.startswith("n_"):
        fit = read_count
    if name.startswith("logprob_"):
        fit = read_float
    return [fit(getattr(completion, name)) for completion in completions]


def _read_text(value: object) -> str | None:
    return replace_surrogates(value) if isinstance(value, str) else None
