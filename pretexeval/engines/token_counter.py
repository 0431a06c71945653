"""The number of tokens in a prompt, and the number that a model takes, known without loading the model."""

from functools import cached_property
from typing import TYPE_CHECKING

from pretexeval.config.engines import EngineConfig
from pretexeval.engines.identity import find_cached_folder, find_folder, read_json, read_tokenizer
from pretexeval.primitives.errors import InputError, describe_failure, is_failure

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerBase

CHARACTERS_PER_TOKEN = 4


class TokenCounter:
    """Counts the tokens of prompts for one model."""

    def __init__(self, config: EngineConfig) -> None:
        """Remember the model; files are read when they are first needed."""
        self._config = config

    @cached_property
    def limit(self) -> int | None:
        """The number of tokens that the model takes, prompt and answer together; None if it is not known.

        The limit of a hub model is known only if the configuration states it. Prompts are cut to this limit,
        so they would depend on the state of the hub's cache if the limit were read from there.

        Raises:
            InputError: the configuration names a folder that does not exist or is incomplete, or config.json
                cannot be read.
        """
        if self._config.engine != "vllm":
            return None
        if self._config.max_model_len is not None:
            return self._config.max_model_len
        folder = find_folder(self._config)
        if folder is None or not (folder / "tokenizer.json").is_file():
            return None
        limit: int | None = read_json(folder / "config.json").get("max_position_embeddings")
        return limit

    @property
    def is_exact(self) -> bool:
        """Return whether `estimate` counts with the model's own tokenizer."""
        return self._file_tokenizer is not None

    def estimate(self, text: str) -> float:
        """Return the number of tokens: by the tokenizer if it is on this machine, or else characters / 4."""
        tokenizer = self._file_tokenizer
        return len(text) / CHARACTERS_PER_TOKEN if tokenizer is None else len(tokenizer.encode(text))

    def count(self, text: str) -> int:
        """Return the number of tokens of a text for a vLLM model, by its own tokenizer.

        Prompts that are asked are cut by this number, so the tokenizer of a hub model is downloaded first.

        Raises:
            InputError: the tokenizer cannot be read or downloaded.
        """
        return len(self._own_tokenizer.encode(text))

    @cached_property
    def _file_tokenizer(self) -> "Tokenizer | None":
        """The tokenizer of tokenizer.json in the model's folder or in the hub's cache; None without one."""
        return self._read_file()

    @cached_property
    def _own_tokenizer(self) -> "Tokenizer | PreTrainedTokenizerBase":
        if self._file_tokenizer is not None:
            return self._file_tokenizer
        config = self._config
        try:
            from transformers import AutoTokenizer

            loaded: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(
                config.model, revision=config.revision, trust_remote_code=config.trust_remote_code
            )
        except BaseException as error:
            if not is_failure(error):
                raise
            raise InputError(
                f"model {config.name!r}: its tokenizer cannot be read ({describe_failure(error)}), and "
                f"without it no prompt can be cut to {self.limit} tokens: download the model, and run again"
            ) from error
        # If tokenizer.json was downloaded, later runs count with this file, and so must this one.
        return self._read_file() or loaded

    def _read_file(self) -> "Tokenizer | None":
        if self._config.engine != "vllm":
            return None
        folder = find_folder(self._config) or find_cached_folder(self._config)
        if folder is None or not (folder / "tokenizer.json").is_file():
            return None
        return read_tokenizer(folder / "tokenizer.json")
