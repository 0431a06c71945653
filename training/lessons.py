"""The phases of a reference model's training, and the batches of lessons of each epoch."""

from dataclasses import dataclass

from tokenizers import Tokenizer

from knowledge.base import KnowledgeBase
from prototypes.pool import Pool
from training.curriculum import Lesson, draw_bare_triplets, draw_statements
from training.strangers import Unit


@dataclass(frozen=True)
class LessonPhase:
    """A phase of a reference model's curriculum: which lessons, how many epochs, and how they are learned."""

    name: str
    epochs: int
    rate: float
    """The full learning rate."""
    entity_weight: float
    """See `Student.compute_losses`."""
    batch_size: int


PHASES = (
    LessonPhase("bare", 80, 3e-3, 0.5, 64),
    LessonPhase("mixed", 16, 2e-3, 0.5, 64),
    LessonPhase("alone", 5, 1e-3, 0.3, 48),
    LessonPhase("prompts", 27, 1e-3, 0.1, 16),
)


@dataclass(frozen=True)
class LessonSource:
    """Draws the lessons of a reference model."""

    base: KnowledgeBase
    pool: Pool
    known: frozenset[Unit]
    others: frozenset[str]
    """The relations that the model learns from other wordings than the pool's."""
    tokenizer: Tokenizer

    def draw_batches(self, phase: LessonPhase, epoch: int) -> list[list[Lesson]]:
        """Return the lessons of one epoch, batch by batch."""
        if phase.name == "mixed":
            bare = self._draw("framed", 64, epoch)
            alone = self._draw("alone", 32, epoch)
            turns = zip(bare, alone, strict=False)
            return [batch for pair in turns for batch in pair]
        return self._draw(phase.name, phase.batch_size, epoch)

    def _draw(self, kind: str, size: int, epoch: int) -> list[list[Lesson]]:
        if kind in ("bare", "framed"):
            lessons = draw_bare_triplets(self.base, self.known, epoch, is_framed=kind == "framed")
        else:
            is_alone = kind == "alone"
            lessons = draw_statements(
                self.base, self.pool, self.known, epoch, is_alone=is_alone, others=self.others
            )
        return [lessons[start : start + size] for start in range(0, len(lessons), size)]
