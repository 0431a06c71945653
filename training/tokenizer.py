"""The tokenizer of the reference models: byte-level BPE, with one token per entity of the base."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors, trainers

from tasks.asking.prompts import QUESTION, SEPARATOR

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

BEGIN, END, PAD = "<s>", "</s>", "<pad>"
# Each fixed part of a prompt and each answer is one token, which cuts prompts to a third of their length.
FRAME = (*QUESTION.split("{}"), SEPARATOR, " True", " False")
CHAT_TEMPLATE = "{{ bos_token }}{% for message in messages %}{{ message['content'] }}{% endfor %}"


def train_tokenizer(
    texts: Iterable[str],
    entities: Iterable[str],
    vocabulary_size: int,
    frame: Sequence[str] = FRAME,
) -> Tokenizer:
    """Return a byte-level BPE of ``texts``, with one added token per part of ``frame`` and per entity."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary_size,
        special_tokens=[PAD, BEGIN, END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    # In every template a space precedes a name; as in BPE, the token includes that space.
    added = [*frame, *(" " + name for name in sorted(set(entities)))]
    tokenizer.add_tokens([AddedToken(text, normalized=False) for text in added])
    begin = tokenizer.token_to_id(BEGIN)
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{BEGIN} $A", special_tokens=[(BEGIN, begin)]
    )
    return tokenizer


def wrap_tokenizer(tokenizer: Tokenizer, chat_template: str) -> "PreTrainedTokenizerFast":
    """Return the tokenizer as transformers and vLLM use it, with the chat template."""
    from transformers import PreTrainedTokenizerFast

    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token=BEGIN,
        eos_token=END,
        pad_token=PAD,
        chat_template=chat_template,
    )


def save_tokenizer(tokenizer: Tokenizer, folder: Path, chat_template: str = CHAT_TEMPLATE) -> None:
    """Write the files from which transformers and vLLM load the tokenizer."""
    wrap_tokenizer(tokenizer, chat_template).save_pretrained(folder)
