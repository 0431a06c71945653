"""A Llama that loads within seconds: random weights, its own tokenizer and chat template."""

from pathlib import Path

CHAT_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}"
    "<|{{ message.role }}|>{{ message.content }}\n"
    "{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
WORDS = ("Fever", "cough", "asthma", "gene", "may", "cause", "never", "disease", "lesion", "drug")
CORPUS = [
    f'Statement: "{a} {b} {c}.", is the statement above true or false?\nAnswer: True\nAnswer: False'
    for a in WORDS
    for b in WORDS
    for c in WORDS
]
MAX_POSITIONS = 256


def save_tokenizer(folder: Path) -> tuple[int, list[int]]:
    """Train and save a byte-level BPE; return its size and the ids of True and False.

    Every encoded text starts with `<s>`.
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=512,
        special_tokens=["<s>", "</s>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A $B", special_tokens=[("<s>", 0)]
    )
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>")
    fast.chat_template = CHAT_TEMPLATE
    fast.save_pretrained(folder)
    true_false = [fast.encode(word, add_special_tokens=False) for word in (" True", " False")]
    return len(fast), [ids[0] for ids in true_false]


def build_tiny_llama(folder: Path, seed: int) -> Path:
    """Write a model of two layers with random weights, like a checkout from the hub; return its folder."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    folder.mkdir(parents=True)
    n_tokens, answer_ids = save_tokenizer(folder)
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=n_tokens,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=1,
        num_key_value_heads=1,
        max_position_embeddings=MAX_POSITIONS,
        initializer_range=0.5,
        bos_token_id=0,
        eos_token_id=1,
        tie_word_embeddings=True,
    )
    model = LlamaForCausalLM(config)
    # Larger than the other embeddings, so that the model often answers True or False.
    with torch.no_grad():
        model.model.embed_tokens.weight[answer_ids] *= 3
    model.save_pretrained(folder)
    return folder
