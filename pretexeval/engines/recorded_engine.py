"""The engine that reads answers from a Parquet file, to evaluate recorded responses without a model."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from pretexeval.config.engines import EngineConfig
from pretexeval.engines.identity import find_recording
from pretexeval.primitives.errors import InputError
from pretexeval.primitives.hashing import hash_text
from schemas.exchange import Completion, Prompt, Sampling

NEEDED = ("prompt", "response")
FIELDS = tuple(field.name for field in fields(Completion))
NOT_RECORDED = Completion(None, status="error", error="not recorded")


class RecordedEngine:
    """Find answers by the text of the prompt, and by its style if the file has the column `prompt_style`."""

    def __init__(self, config: EngineConfig) -> None:
        """Read the whole file.

        Raises:
            InputError: the file does not exist or is not Parquet, or a column is missing.
        """
        self._completions = read_recording(find_recording(config))

    def generate(
        self,
        prompts: Sequence[Prompt],
        sampling: Sampling,
        on_progress: Callable[[int], None] | None = None,
    ) -> list[Completion]:
        """Return one completion per prompt, in order: that of the wanted repeat.

        A prompt that is not in the file, or that has fewer repeats there, gets an error.
        """
        completions = [self._look_up(prompt, sampling.repeat) for prompt in prompts]
        if on_progress:
            on_progress(len(prompts))
        return completions

    def close(self) -> None:
        """Release the answers."""
        self._completions = {}

    def _look_up(self, prompt: Prompt, repeat: int) -> Completion:
        for style in (prompt.style, ""):
            if found := self._completions.get(hash_text(style, prompt.text)):
                return found[repeat] if repeat < len(found) else NOT_RECORDED
        return NOT_RECORDED


def read_recording(path: Path) -> dict[str, list[Completion]]:
    """Return hash of style and prompt -> its completions, in the order of their repeats.

    Repeats may be numbered from any number. Of two rows with the same repeat, the first is used. The keys are
    hashes, because 272,000 five-shot prompts are 0.8 GB of text.

    Raises:
        InputError: the file is not Parquet, or a column is missing.
    """
    found: dict[str, dict[int, Completion]] = {}
    for row in _read_rows(path):
        key = hash_text(row.get("prompt_style") or "", str(row["prompt"]))
        found.setdefault(key, {}).setdefault(row.get("repeat") or 0, _read_completion(row))
    return {key: [repeats[n] for n in sorted(repeats)] for key, repeats in found.items()}


def _read_rows(path: Path) -> Iterator[dict[str, Any]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(path)
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{path}: not a Parquet file that can be read ({error})") from error
    with file:
        names = file.schema_arrow.names
        if missing := [name for name in NEEDED if name not in names]:
            raise InputError(f"{path}: no column {missing[0]!r}; recorded responses need {', '.join(NEEDED)}")
        columns = [name for name in ("prompt", "prompt_style", "repeat", *FIELDS) if name in names]
        for batch in file.iter_batches(columns=columns):
            yield from batch.to_pylist()


def _read_completion(row: dict[str, Any]) -> Completion:
    if row["response"] is None or row.get("status") == "error":
        reason = row.get("error") or "recorded without a response"
        return Completion(None, status="error", error=reason)
    given = {name: row[name] for name in FIELDS if name in row}
    return Completion(**given | {"response": str(row["response"]), "status": "ok", "error": None})
