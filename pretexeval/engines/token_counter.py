"""The number of tokens in a prompt, and the number that a model takes, known without loading the model."""

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pretexeval.config.engines import EngineConfig
from pretexeval.engines.identity import IN_PROCESS, find_cached_folder, find_folder
from pretexeval.engines.model_files import read_json, read_tokenizer

if TYPE_CHECKING:
    from tokenizers import Tokenizer

CHARACTERS_PER_TOKEN = 4


class TokenCounter:
    """Counts with the tokenizer of a vLLM model where it is on this machine, else characters / 4."""

    def __init__(self, config: EngineConfig) -> None:
        """Remember the model; files are read when they are first needed."""
        self._config = config

    @cached_property
    def limit(self) -> int | None:
        """The number of tokens that the model takes, prompt and answer together; None if it is not known.

        It is known only for a model in a local folder with a tokenizer: prompts are cut to this limit, so
        they would depend on the state of the hub's cache if it were read from there.

        Raises:
            InputError: the configuration names a folder that does not exist or is incomplete, or config.json
                cannot be read.
        """
        folder = self._local_folder
        if folder is None or not (folder / "tokenizer.json").is_file():
            return None
        described = read_json(folder / "config.json")
        limit: int | None = self._config.max_model_len or described.get("max_position_embeddings")
        return limit

    @property
    def is_exact(self) -> bool:
        """Whether the model's own tokenizer counts."""
        return self._tokenizer is not None

    def count(self, text: str) -> float:
        """Return the number of tokens of a text: exact, or characters / 4."""
        if self._tokenizer is None:
            return len(text) / CHARACTERS_PER_TOKEN
        return len(self._tokenizer.encode(text).ids)

    @cached_property
    def _local_folder(self) -> Path | None:
        return find_folder(self._config) if self._config.engine in IN_PROCESS else None

    @cached_property
    def _tokenizer(self) -> "Tokenizer | None":
        if self._config.engine not in IN_PROCESS:
            return None
        folder = self._local_folder or find_cached_folder(self._config)
        if folder is None or not (folder / "tokenizer.json").is_file():
            return None
        return read_tokenizer(folder / "tokenizer.json")
