"""Token ids of prompts. The demonstrations that many prompts begin with are tokenised once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

# An empty line follows each demonstration (`tasks.asking.prompts`).
SEPARATOR = "\n\n"
# A smaller group is tokenised as a whole, because its check would cost as much.
MIN_GROUP = 6


def tokenise_texts(tokenizer: PreTrainedTokenizerBase, texts: Sequence[str], style: str) -> list[list[int]]:
    """Return the token ids of rendered prompts. A chat template contains its own special tokens."""
    is_completion = style == "completion"
    return [
        _drop_repeated_bos(ids, tokenizer.bos_token_id)
        for ids in _encode(tokenizer, texts, add_special_tokens=is_completion)
    ]


def tokenise_sorted(tokenizer: PreTrainedTokenizerBase, texts: Sequence[str], style: str) -> list[list[int]]:
    """Return what `tokenise_texts` returns for sorted texts, in less time where neighbours begin alike.

    A text is cut at the last space of the demonstrations that it shares with its neighbours. There,
    tokenizers that split a text into words give both parts the tokens of the whole text, whatever follows the
    demonstrations. This is checked with the first and the last text of each group. If it does not hold for
    them, all texts of the group are tokenised as a whole.
    """
    groups = [group for group in _list_groups(texts) if len(group.positions) >= MIN_GROUP]
    # Some tokenizers treat the beginning of a text differently, so an end begins with the word before the
    # cut. The tokens of this word are then removed.
    words = [group.word for group in groups]
    ends = [texts[i][group.cut - len(group.word) :] for group in groups for i in group.positions]
    ids_of_parts = iter(_encode(tokenizer, words + ends, add_special_tokens=False))
    ids_of_words = [next(ids_of_parts) for _ in groups]
    ids_of_heads = iter(tokenise_texts(tokenizer, [group.head[: group.cut] for group in groups], style))
    checked = (texts[i] for group in groups for i in group.find_outermost())
    ids_of_checked = iter(tokenise_texts(tokenizer, list(checked), style))
    tokens: dict[int, list[int]] = {}
    for group, word in zip(groups, ids_of_words, strict=True):
        head, joined = next(ids_of_heads), {}
        for i in group.positions:
            end = next(ids_of_parts)
            if end[: len(word)] == word:
                joined[i] = head + end[len(word) :]
        are_equal = [joined.get(i) == next(ids_of_checked) for i in group.find_outermost()]
        if all(are_equal):
            tokens |= joined
    rest = [i for i in range(len(texts)) if i not in tokens]
    tokens |= zip(rest, tokenise_texts(tokenizer, [texts[i] for i in rest], style), strict=True)
    return [tokens[i] for i in range(len(texts))]


@dataclass(frozen=True)
class _Group:
    """Neighbours among sorted texts that begin with the same demonstrations."""

    head: str
    """The demonstrations, without the empty line behind them."""
    positions: range

    @property
    def cut(self) -> int:
        """The position of the last space in the head."""
        return self.head.rindex(" ")

    @property
    def word(self) -> str:
        """The word before the cut."""
        return self.head[: self.cut].replace("\n", " ").rpartition(" ")[2]

    def find_outermost(self) -> tuple[int, int]:
        """Return the positions of the first and the last text."""
        return self.positions[0], self.positions[-1]


def _list_groups(texts: Sequence[str]) -> Iterator[_Group]:
    """Yield the groups of sorted texts that share demonstrations with a space in them."""
    start, head = 0, ""
    for i, text in enumerate([*texts, ""]):
        if head and text.startswith(head + SEPARATOR):
            continue
        if " " in head:
            yield _Group(head, range(start, i))
        following = texts[i + 1] if i + 1 < len(texts) else ""
        end = text.rfind(SEPARATOR)
        while end > 0 and not following.startswith(text[: end + len(SEPARATOR)]):
            end = text.rfind(SEPARATOR, 0, end)
        start, head = i, text[: max(end, 0)]


def find_answer_token(tokenizer: PreTrainedTokenizerBase, text: str, word: str) -> int | None:
    """Return the token of ``word`` directly after ``text``, or None if the word is several tokens.

    The token is found in context, because SentencePiece encodes a word differently at the start of a text.
    After white space, with which most chat templates end, the word is not preceded by another space.
    """
    line = text.splitlines(keepends=True)[-1] if text else ""
    spelled = word if line[-1:].isspace() else f" {word}"
    before, after = _encode(tokenizer, [line, line + spelled], add_special_tokens=False)
    is_one_more = len(after) == len(before) + 1 and after[:-1] == before
    return int(after[-1]) if is_one_more else None


def _encode(
    tokenizer: PreTrainedTokenizerBase, texts: Sequence[str], *, add_special_tokens: bool
) -> list[list[int]]:
    if not texts:
        return []
    ids: list[list[int]] = tokenizer(list(texts), add_special_tokens=add_special_tokens)["input_ids"]
    return ids


def _drop_repeated_bos(ids: list[int], bos_id: int | None) -> list[int]:
    while bos_id is not None and ids[:2] == [bos_id, bos_id]:
        ids = ids[1:]
    return ids
