"""The response store: what models answered, kept as it came and never asked for twice.

A folder of Parquet files per model, appended chunk by chunk. A file is named by the checksum of its
bytes, so one that was truncated or changed is known as such: it is set aside, and what it held is
asked again.
"""

import hashlib
import io
import re
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq

from primitives.checksums import checksum_file
from schemas.exchange import PROMPT_TOO_LONG, Completion, Prompt
from schemas.stages import RESPONSES
from storage.files import write_aside
from storage.layout import responses_folder

DIGITS = 16
KEYS = ["prompt_key", "repeat"]


class ResponseStore:
    """The responses of one model under ``root``."""

    def __init__(self, root: Path, model_id: str) -> None:
        """Nothing is read or written yet."""
        self.model_id = model_id
        self.folder = root / responses_folder(model_id)
        self._intact: dict[str, tuple[int, int]] = {}

    @staticmethod
    def is_part(name: str) -> bool:
        """Whether a file of that name holds responses."""
        return re.fullmatch(r"part-[0-9a-f]+\.parquet", name) is not None

    @property
    def is_empty(self) -> bool:
        """Whether it never said anything."""
        return not any(self.folder.glob("part-*.parquet"))

    def append(
        self,
        keys: Sequence[str],
        prompts: Sequence[Prompt],
        completions: Sequence[Completion],
        repeat: int = 0,
    ) -> Path:
        """Keep one chunk of responses: one new file, there as a whole or not at all."""
        rows = [
            {
                "prompt_key": key,
                "model_id": self.model_id,
                "repeat": repeat,
                "prompt": prompt.text,
                **vars(completion),
                "response": _as_unicode(completion.response),
                "error": _as_unicode(completion.error),
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
        table = pl.DataFrame(rows, schema=schema).to_arrow().cast(RESPONSES.schema)
        content = io.BytesIO()
        pq.write_table(table, content, compression="zstd")
        name = hashlib.sha256(content.getbuffer()).hexdigest()[:DIGITS]
        path = self.folder / f"part-{name}.parquet"
        with write_aside(path) as aside:
            aside.write_bytes(content.getbuffer())
        return path

    def list_files(self) -> list[Path]:
        """The intact files, by name; one that is damaged is renamed to `.damaged` and left out."""
        intact = []
        for path in sorted(self.folder.glob("part-*.parquet")):
            stat = path.stat()
            stamp = (stat.st_size, stat.st_mtime_ns)
            if self._intact.get(path.name) != stamp:
                if checksum_file(path)[:DIGITS] != path.stem.removeprefix("part-"):
                    path.rename(path.with_suffix(".damaged"))
                    continue
                self._intact[path.name] = stamp
            intact.append(path)
        return intact

    def read(self, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """One row per (prompt_key, repeat): the response if one was ever given, else an error."""
        names = list(columns or RESPONSES.names)
        files = self.list_files()
        if not files:
            return pl.DataFrame(RESPONSES.schema.empty_table()).select(names)
        wanted = list(dict.fromkeys([*KEYS, *names, "status"]))
        rows = pl.concat([pl.read_parquet(file, columns=wanted) for file in files])
        return (
            rows.sort("status", descending=True, maintain_order=True)
            .unique(KEYS, keep="first", maintain_order=True)
            .select(names)
        )

    def read_failed_keys(self) -> set[str]:
        """Keys of the prompts that were asked and have no answer."""
        rows = self.read(["prompt_key", "status"])
        return set(rows.filter(pl.col("status") == "error")["prompt_key"])

    def read_settled_keys(self) -> set[str]:
        """Keys of the prompts that need not be asked: answered, or too long for the model for good.

        Every other failed prompt is asked again by the next run.
        """
        rows = self.read(["prompt_key", "status", "error"])
        is_too_long = pl.col("error").str.starts_with(PROMPT_TOO_LONG).fill_null(False)
        return set(rows.filter((pl.col("status") == "ok") | is_too_long)["prompt_key"])


def _as_unicode(text: str | None) -> str | None:
    """The text with lone surrogates as U+FFFD: JSON can carry them to us, no file can hold them."""
    return text and text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
