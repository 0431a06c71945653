"""The tokens of one prompt, as a local model gets them."""

from transformers import PreTrainedTokenizerBase

from pretexeval.engines.base import render_prompt, tokenise_texts
from schemas.exchange import Prompt


def tokenise_prompt(tokenizer: PreTrainedTokenizerBase, prompt: Prompt) -> list[int]:
    return tokenise_texts(tokenizer, [render_prompt(tokenizer, prompt)], prompt.style)[0]
