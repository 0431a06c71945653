"""Chunks of prompts: how many are asked at a time, and how much disk space they take with their answers."""

from schemas.exchange import Prompt, Sampling

# The chunk size is adjusted so that a chunk takes this long. In a longer one, answers are stored meanwhile.
CHUNK_S = 20.0
FIRST_CHUNK = 1024
# The first prompts show whether the model answers at all, before many are sent or paid for.
TRIAL_CHUNK = 32
MAX_CHUNK = 16_384
# Upper bounds for reserving disk space: bytes per row without its texts, and bytes per token.
ROW_BYTES = 512
TOKEN_BYTES = 16

PromptsByKey = dict[str, Prompt]
"""Prompt key -> prompt."""


class ChunkSize:
    """The number of prompts in the next chunk: few until the model has answered, and after refusals."""

    def __init__(self) -> None:
        """Begin with a chunk on trial."""
        self.is_on_trial = True
        self._n_full = FIRST_CHUNK

    @property
    def n_prompts(self) -> int:
        """Return the number of prompts in the next chunk."""
        return TRIAL_CHUNK if self.is_on_trial else self._n_full

    def adjust(self, seconds: float) -> None:
        """Make the next chunk take about CHUNK_S, after one that took this long; a trial says nothing."""
        if not self.is_on_trial:
            factor = min(max(CHUNK_S / max(seconds, 1e-6), 0.5), 4.0)
            self._n_full = int(min(max(self._n_full * factor, FIRST_CHUNK // 4), MAX_CHUNK))


def pop_prompts(waiting: PromptsByKey, n: int) -> PromptsByKey:
    """Remove the first ``n`` prompts from those that wait, and return them."""
    return {key: waiting.pop(key) for key in list(waiting)[:n]}


def estimate_bytes(chunk: PromptsByKey, sampling: Sampling) -> int:
    """Return an upper bound for the bytes that the chunk's prompts and answers take on disk."""
    n_prompt_bytes = sum(len(prompt.text.encode()) for prompt in chunk.values())
    return n_prompt_bytes + len(chunk) * (ROW_BYTES + TOKEN_BYTES * sampling.max_tokens)
