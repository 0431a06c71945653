"""The engine that runs a text-classification model of transformers in this process, on pairs of texts."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pretexeval.config.engines import EngineConfig
from pretexeval.engines.base import IncrementalEngine
from pretexeval.engines.identity import find_folder
from pretexeval.engines.model_files import require_readable
from pretexeval.primitives.errors import InputError, describe_failure, is_failure, release_frames
from pretexeval.primitives.hashing import render_canonical_json
from schemas.exchange import PROMPT_TOO_LONG, Completion, Prompt, Sampling, find_entailment

if TYPE_CHECKING:
    from torch import Tensor

BATCH = 32
# Other batches and processors change the last digits of a probability.
N_DIGITS = 6


class EntailmentEngine(IncrementalEngine):
    """A model that gives probabilities of labels, of which one is entailment.

    Prompts have the style `pair`: premise and conclusion as a JSON list. A response is a JSON object: label
    -> probability. The model computes in float32.
    """

    def __init__(self, config: EngineConfig) -> None:
        """Load the model.

        Raises:
            InputError: it cannot be loaded, or does not have exactly one label for entailment.
        """
        import torch
        from transformers import AutoModelForSequenceClassification, AutoTokenizer

        require_readable(config)
        source = {"pretrained_model_name_or_path": str(find_folder(config) or config.model)}
        if find_folder(config) is None:
            source["revision"] = config.revision or "main"
        self._device = "cuda" if torch.cuda.is_available() else "cpu"
        try:
            self._tokenizer = AutoTokenizer.from_pretrained(**source)
            model = AutoModelForSequenceClassification.from_pretrained(**source, dtype=torch.float32)
            self._model = model.to(self._device).eval()
        except BaseException as error:
            if not is_failure(error):
                raise
            release_frames(error)
            raise InputError(
                f"model {config.name!r}: transformers cannot load {config.model!r} as a text-classification "
                f"model: {describe_failure(error)}"
            ) from error
        self._labels = [str(label) for _, label in sorted(model.config.id2label.items())]
        if find_entailment(self._labels) is None:
            raise InputError(
                f"model {config.name!r}: its labels are {', '.join(self._labels)}; a judge needs exactly one "
                "label whose name contains `entail` and does not begin with `no`: see id2label in config.json"
            )
        limits = (self._tokenizer.model_max_length, getattr(model.config, "max_position_embeddings", None))
        self._max_tokens = min(limit for limit in limits if limit)
        self._served = f"transformers, {self._device}, float32"

    def generate_into(
        self,
        received: dict[int, Completion],
        prompts: Sequence[Prompt],
        sampling: Sampling,
        on_progress: Callable[[int], None],
    ) -> None:
        """Put the probabilities of each pair into `received`. A pair that is too long gets an error."""
        pairs = [json.loads(prompt.text) for prompt in prompts]
        lengths = [
            len(ids) for ids in self._tokenizer([a for a, _ in pairs], [b for _, b in pairs])["input_ids"]
        ]
        # Sorted by length, so that a batch has little padding.
        order = sorted(range(len(pairs)), key=lengths.__getitem__)
        for start in range(0, len(order), BATCH):
            places = order[start : start + BATCH]
            fitting = [i for i in places if lengths[i] <= self._max_tokens]
            received.update({i: self._refuse(lengths[i]) for i in places if i not in fitting})
            if fitting:
                rows = self._classify([pairs[i] for i in fitting]).tolist()
                received.update(
                    {i: self._complete(row, lengths[i]) for i, row in zip(fitting, rows, strict=True)}
                )
            on_progress(len(places))

    def close(self) -> None:
        """Release the model."""
        del self._model, self._tokenizer

    def _classify(self, pairs: Sequence[Sequence[str]]) -> Tensor:
        import torch

        batch = self._tokenizer(
            [a for a, _ in pairs], [b for _, b in pairs], padding=True, return_tensors="pt"
        ).to(self._device)
        with torch.inference_mode():
            logits: Tensor = self._model(**batch).logits
        return logits.float().softmax(-1)

    def _complete(self, row: Sequence[float], n_tokens: int) -> Completion:
        probabilities = dict(zip(self._labels, (round(value, N_DIGITS) for value in row), strict=True))
        text = render_canonical_json(probabilities)
        return Completion(text, n_prompt_tokens=n_tokens, n_completion_tokens=0, served=self._served)

    def _refuse(self, n_tokens: int) -> Completion:
        reason = f"{PROMPT_TOO_LONG}: {n_tokens} tokens, the model takes {self._max_tokens}"
        return Completion(None, "error", reason, n_prompt_tokens=n_tokens)
