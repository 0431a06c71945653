"""The tokenizer of the reference models: byte-level BPE, with the base's entities as single tokens."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors, trainers

from tasks.asking.prompts import QUESTION, SEPARATOR

BEGIN, END, PAD = "<s>", "</s>", "<pad>"
# The fixed parts of a prompt and both answers are one token each: prompts are a third as long so.
FRAME = (*QUESTION.split("{}"), SEPARATOR, " True", " False")
CHAT_TEMPLATE = "{{ bos_token }}{% for message in messages %}{{ message['content'] }}{% endfor %}"


def train_tokenizer(
    texts: Iterable[str],
    entities: Iterable[str],
    vocabulary_size: int,
    frame: Sequence[str] = FRAME,
) -> Tokenizer:
    """Byte-level BPE on ``texts``, with prompt frame and entity names added as tokens of their own."""
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
    # Names follow a space in every template; the space is part of the token, as it is in BPE.
    added = [*frame, *(" " + name for name in sorted(set(entities)))]
    tokenizer.add_tokens([AddedToken(text, normalized=False) for text in added])
    begin = tokenizer.token_to_id(BEGIN)
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{BEGIN} $A", special_tokens=[(BEGIN, begin)]
    )
    return tokenizer


def save_tokenizer(tokenizer: Tokenizer, folder: Path, chat_template: str = CHAT_TEMPLATE) -> None:
    """The files that transformers and vLLM read."""
    from transformers import PreTrainedTokenizerFast

    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token=BEGIN,
        eos_token=END,
        pad_token=PAD,
        chat_template=chat_template,
    ).save_pretrained(folder)
