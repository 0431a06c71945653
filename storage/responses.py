"""The response store: the answers of models, stored unchanged, so that no prompt is asked twice.

Each model has a folder of Parquet files, one per chunk of answers. The name of a file holds the checksum of
its bytes, so a truncated or changed file is noticed: it is renamed, and its prompts are asked again.
"""

import hashlib
import io
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq

from primitives.checksums import checksum_file
from schemas.exchange import PROMPT_TOO_LONG, Completion, Prompt
from schemas.stages import RESPONSES
from storage.files import build_stage_table, read_stage_file, write_bytes
from storage.layout import responses_folder

# Digits of the checksum in a file's name.
N_DIGITS = 16
KEYS = ["prompt_key", "repeat"]
# What a model or an endpoint may fill with any text.
FREE_TEXTS = ("response", "error", "reasoning", "served")


class ResponseStore:
    """The responses of one model under ``root``."""

    def __init__(self, root: Path, model_id: str) -> None:
        """Locate the store without reading or writing anything."""
        self.model_id = model_id
        self.folder = root / responses_folder(model_id)
        self._intact: dict[str, tuple[int, int]] = {}
        self._selected: dict[frozenset[str], dict[str, pl.DataFrame]] = {}

    @staticmethod
    def is_response_file(name: str) -> bool:
        """Return whether a file of that name holds responses."""
        return re.fullmatch(r"part-[0-9a-f]+\.parquet", name) is not None

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
        """Write one chunk of responses atomically as a new file, and return its path."""
        rows = [
            {
                "prompt_key": key,
                "model_id": self.model_id,
                "repeat": repeat,
                "prompt": prompt.text,
                **vars(completion),
                **{name: replace_surrogates(getattr(completion, name)) for name in FREE_TEXTS},
            }
            for key, prompt, completion in zip(keys, prompts, completions, strict=True)
        ]
        schema = {f.name: pl.String for f in RESPONSES.schema} | {
            "repeat": pl.Int16,
            "n_prompt_tokens": pl.Int32,
            "n_completion_tokens": pl.Int32,
            "logprob_true": pl.Float64,
            "logprob_false": pl.Float64,
        }
        table = build_stage_table(pl.DataFrame(rows, schema=schema), RESPONSES)
        content = io.BytesIO()
        pq.write_table(table, content, compression="zstd")
        name = hashlib.sha256(content.getbuffer()).hexdigest()[:N_DIGITS]
        path = self.folder / f"part-{name}.parquet"
        write_bytes(path, content.getbuffer())
        return path

    def list_files(self) -> list[Path]:
        """Return the intact files, sorted by name; rename each damaged file to `.damaged`.

        A file is read again only if its size or time has changed since the last call.
        """
        intact = []
        for path in sorted(self.folder.glob("part-*.parquet")):
            stat = path.stat()
            stamp = (stat.st_size, stat.st_mtime_ns)
            if self._intact.get(path.name) != stamp:
                if checksum_file(path)[:N_DIGITS] != path.stem.removeprefix("part-"):
                    path.rename(path.with_suffix(".damaged"))
                    continue
                self._intact[path.name] = stamp
            intact.append(path)
        return intact

    def read(self, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """Return one row per (prompt_key, repeat): the response if there is one, else an error."""
        names = list(columns or RESPONSES.names)
        files = self.list_files()
        if not files:
            return pl.DataFrame(RESPONSES.schema.empty_table()).select(names)
        wanted = list(dict.fromkeys([*KEYS, *names, "status"]))
        return _prefer_responses(read_stage_file(file, RESPONSES, wanted) for file in files).select(names)

    def read_selected(self, keys: frozenset[str]) -> pl.DataFrame:
        """Return prompt_key, repeat and response of a few prompts, as `read` does.

        If the same keys are read again, only files that are new since then are read.
        """
        known = self._selected.setdefault(keys, {})
        names = [*KEYS, "response", "status"]
        empty = pl.DataFrame(RESPONSES.schema.empty_table()).select(names)
        files = self.list_files()
        for file in files:
            if file.name not in known:
                rows = read_stage_file(file, RESPONSES, names)
                known[file.name] = rows.filter(pl.col("prompt_key").is_in(keys))
        return _prefer_responses([empty, *(known[file.name] for file in files)]).drop("status")

    def read_failed_keys(self, repeat: int = 0) -> set[str]:
        """Return the keys of the prompts that were asked and have no answer of this repeat."""
        rows = self.read(["prompt_key", "repeat", "status"])
        return set(rows.filter(repeat=repeat, status="error")["prompt_key"])

    def read_settled_keys(self, repeat: int = 0) -> set[str]:
        """Return the keys of the prompts whose repeat is answered, or that are too long in any case.

        The next run asks every other failed prompt again.
        """
        rows = self.read(["prompt_key", "repeat", "status", "error"]).filter(repeat=repeat)
        is_too_long = pl.col("error").str.starts_with(PROMPT_TOO_LONG).fill_null(False)
        return set(rows.filter((pl.col("status") == "ok") | is_too_long)["prompt_key"])


def _prefer_responses(frames: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Return one row per (prompt_key, repeat): the first response if there is one, else the first error."""
    rows = pl.concat(frames).sort("status", descending=True, maintain_order=True)
    return rows.unique(KEYS, keep="first", maintain_order=True)


def replace_surrogates(text: str | None) -> str | None:
    """Replace lone surrogates by U+FFFD: JSON answers can contain them, but UTF-8 files cannot."""
    return text and text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
