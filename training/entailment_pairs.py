"""Pairs of a premise and a hypothesis, with which the reference entailment model is trained and measured.

They are made from the sentences of `training.meanings`, changed by `training.sound_edits` and
`training.corruptions`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from training import corruptions, sound_edits
from training.meanings import CHANGED, Meaning, SentenceFacts, SlotSentence

# First the sentences of a pair differ in many words. Later, many differ in few, as with a weak writer.
SHARES = {
    "same": 0.36,
    "same, affirmed": 0.03,
    "denied": 0.05,
    "contrary": 0.12,
    "flipped": 0.05,
    "swapped": 0.09,
    "other relation": 0.04,
    "weaker": 0.03,
    "modality": 0.03,
    "qualified": 0.05,
    "lost": 0.05,
    "condition": 0.03,
    "addition": 0.02,
    "contradiction": 0.05,
    "broken": 0.07,
    "mixed": 0.05,
}
"""Kind of pair -> its share, relative to the others."""
LATER_SHARES = SHARES | {"same": 0.2, "edited": 0.4, "talk": 0.12}
SHARE_MASKED = 0.85
"""The share of pairs whose names are X and Y, as in a judge with `mask_names`."""


@dataclass(frozen=True)
class SentencePair:
    """A premise, a hypothesis, and whether the hypothesis follows."""

    premise: str
    hypothesis: str
    is_entailed: bool
    kind: str
    facts: tuple[SentenceFacts, SentenceFacts] = (CHANGED, CHANGED)
    """Of the premise and of the hypothesis."""


class PairSource:
    """Draws pairs. Every step of the training draws new ones."""

    def __init__(
        self, predicates: Sequence[Meaning], relations: Sequence[Meaning], names: Sequence[str], seed: int = 0
    ) -> None:
        """Keep the meanings to draw from; half of the pairs are of each list.

        Args:
            names: names of entities, for the pairs that are not masked.
        """
        self._sources = (predicates, relations)
        self._names = names
        self.meanings = [meaning.name for source in self._sources for meaning in source]
        self._random = Random(seed)

    def seed(self, seed: int) -> None:
        """Restart the random generator with this seed."""
        self._random = Random(seed)

    def draw(self, n: int, shares: Mapping[str, float] = LATER_SHARES) -> list[SentencePair]:
        """Return ``n`` pairs of all kinds."""
        kinds = self._random.choices(list(shares), list(shares.values()), k=2 * n)
        found = (self.draw_pair(kind) for kind in kinds)
        return [pair for pair in found if pair is not None][:n]

    def draw_pair(self, kind: str) -> SentencePair | None:
        """Return a pair of this kind; null if the sentence that was drawn cannot be changed so."""
        random = self._random
        meaning = random.choice(random.choice(self._sources))
        made = self._make(kind, meaning, random.choice(meaning.cells))
        if made is None:
            return None
        *sentences, is_entailed = made
        premise, hypothesis = self._fill(*(self._vary(sentence.text) for sentence in sentences))
        return SentencePair(premise, hypothesis, is_entailed, kind, (sentences[0].facts, sentences[1].facts))

    def draw_templates(self, kind: str, meaning: Meaning, n: int) -> list[tuple[str, str]]:
        """Return ``n`` pairs of this kind and meaning, with their slots; the first is not changed."""
        found: list[tuple[str, str]] = []
        while len(found) < n:
            made = self._make(kind, meaning, self._random.choice(meaning.cells))
            if made is None:
                if kind == "swapped" and meaning.is_symmetric:
                    break
                continue
            first, second, _ = made
            if first.facts.is_changed or first.facts.is_swapped:
                first, second = second, first
            found.append((first.text, second.text))
        return found

    def _vary(self, text: str) -> str:
        if self._random.random() < 0.5:
            return text
        return sound_edits.exchange_synonyms(text, self._random)

    def _make(self, kind: str, meaning: Meaning, cell: str) -> tuple[SlotSentence, SlotSentence, bool] | None:
        """Return premise, hypothesis, and whether it follows."""
        random = self._random
        first, same = meaning.draw_sentence(cell, random), meaning.draw_sentence(cell, random)
        contrary = meaning.draw_sentence(meaning.contradictory[cell], random)
        # Half of the changed sentences differ from the other one in nothing but the change.
        base = same if random.random() < 0.5 else first
        if kind == "same":
            return first, same, True
        if kind == "edited":
            plain, edited = first.text, sound_edits.edit_lightly(first.text, random)
            if random.random() < 0.3:
                plain, edited = sound_edits.insert_frequency(plain, edited, random)
            return self._turn(first.word(plain), first.word(edited), True)
        if kind == "same, affirmed":
            return self._turn(first, same.word(sound_edits.affirm(same.text, random)), True)
        if kind == "denied":
            is_same = random.random() < 0.5
            denied = sound_edits.deny((contrary if is_same else same).text, random)
            return self._turn(first, (first if is_same else contrary).word(denied), is_same)
        if kind == "contrary":
            return first, contrary, False
        if kind == "swapped":
            swapped = SlotSentence(corruptions.swap_slots(base.text), replace(base.facts, is_swapped=True))
            return None if meaning.is_symmetric else self._turn(first, swapped, False)
        if kind == "weaker":
            return self._weaken(meaning, cell, first)
        if kind == "addition":
            longer = SlotSentence(corruptions.add_claim(base.text, random), CHANGED)
            return (longer, first, True) if random.random() < 0.5 else (first, longer, False)
        if kind == "other relation":
            stray = self._draw_stray(meaning)
            return None if stray is None else (first, stray, False)
        text = self._corrupt(kind, meaning, base.text, contrary.text)
        return (
            None
            if text is None or text == first.text
            else self._turn(first, SlotSentence(text, CHANGED), False)
        )

    def _weaken(
        self, meaning: Meaning, cell: str, strong: SlotSentence
    ) -> tuple[SlotSentence, SlotSentence, bool] | None:
        if cell not in meaning.weaker:
            return None
        weak = meaning.draw_sentence(meaning.weaker[cell], self._random)
        return (strong, weak, True) if self._random.random() < 0.5 else (weak, strong, False)

    def _draw_stray(self, meaning: Meaning) -> SlotSentence | None:
        other = self._random.choice(self._random.choice(self._sources))
        if other.name == meaning.name:
            return None
        return other.draw_sentence(self._random.choice(other.cells), self._random)

    def _corrupt(self, kind: str, meaning: Meaning, text: str, contrary: str) -> str | None:
        random = self._random
        if kind == "mixed":
            stray = self._draw_stray(meaning)
            return None if stray is None else corruptions.mix(text, stray.text, random)
        changes: dict[str, Callable[[], str | None]] = {
            "flipped": lambda: corruptions.flip_negation(text, random),
            "modality": lambda: corruptions.change_modality(text, random),
            "qualified": lambda: corruptions.qualify_name(text, random),
            "lost": lambda: corruptions.lose_name(text, random.choice(self._names), random),
            "condition": lambda: corruptions.add_condition(text, random),
            "contradiction": lambda: corruptions.contradict(text, contrary, random),
            "talk": lambda: corruptions.talk(text, random.choice(self._names), random),
            "broken": lambda: corruptions.break_sentence(text, random),
        }
        return changes[kind]()

    def _turn(
        self, first: SlotSentence, second: SlotSentence, is_entailed: bool
    ) -> tuple[SlotSentence, SlotSentence, bool]:
        if self._random.random() < 0.5:
            first, second = second, first
        return first, second, is_entailed

    def _fill(self, *texts: str) -> list[str]:
        if self._random.random() < SHARE_MASKED:
            return [sound_edits.fill_sentence(text, ("X", "Y")) for text in texts]
        names = self._random.sample(list(self._names), 2)
        return [sound_edits.fill_sentence(text, names) for text in texts]
