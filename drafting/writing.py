"""Ask a language model for the cells that no rule writes, until they pass the checks."""

from collections.abc import Mapping
from dataclasses import dataclass

from drafting.cells import (
    GIVEN,
    HEAD,
    NOBODY,
    TAIL,
    WRITTEN,
    DraftedCell,
    check_written,
    fill_names,
)
from drafting.instructions import build_instruction
from engines.loading import load_engine
from gate import clean_reply
from primitives.hashing import hash_text
from storage.mirror import Mirror
from tasks.asking.model_session import LoadEngine
from tasks.asking.progress import ShowProgress
from tasks.asking.writer_replies import ask_for_replies
from tasks.asking.writers import Reply, Writer, WriterPrompt
from tasks.judging.judge import Judge

# After the first attempt, which is greedy.
TEMPERATURE = 0.7
MAX_TOKENS = 128


@dataclass(frozen=True)
class DraftWriter:
    """A language model that drafts cells, how often it is asked, and who judges what it writes."""

    writer: Writer
    max_attempts: int
    mirror: Mirror
    show: ShowProgress
    judge: Judge | None = None
    load: LoadEngine = load_engine

    def build_prompt(self, transformation: str, sentence: str, attempt: int) -> WriterPrompt:
        """Return the prompt of one attempt (1, 2, …) at a cell."""
        content = build_instruction(transformation, sentence)
        if attempt == 1:
            return self.writer.build_prompt(content, MAX_TOKENS)
        seed = int(hash_text("draft", str(attempt), digits=8), 16) % 2**31
        return self.writer.build_prompt(content, MAX_TOKENS, TEMPERATURE, seed)


def write_cells(sentence: str, drafter: DraftWriter | None) -> dict[str, DraftedCell]:
    """Return the given cell and the three that a language model writes, each with its marks.

    Args:
        drafter: null if there is no language model; the three cells then have no text.

    Raises:
        InputError: the model cannot be loaded or reached, or leaves a prompt without a reply.
    """
    cells = {"none": DraftedCell("none", sentence, GIVEN)}
    if drafter is None:
        return cells | {
            name: DraftedCell(name, None, NOBODY, ("no writer is configured",)) for name in WRITTEN
        }
    for attempt in range(1, drafter.max_attempts + 1):
        waiting = [name for name in WRITTEN if name not in cells or not cells[name].is_passing]
        if not waiting:
            break
        cells |= _write_once(sentence, drafter, attempt, waiting, cells)
    return cells


def _write_once(
    sentence: str,
    drafter: DraftWriter,
    attempt: int,
    waiting: list[str],
    cells: Mapping[str, DraftedCell],
) -> dict[str, DraftedCell]:
    """Return the waiting cells as the model writes them in this attempt."""
    prompts = {name: drafter.build_prompt(name, sentence, attempt) for name in waiting}
    replies = _ask(drafter, drafter.writer, list(prompts.values()))
    passing = {name: cell for name, cell in cells.items() if cell.is_passing}
    written: dict[str, DraftedCell] = {}
    for name, prompt in prompts.items():
        cell = _read_cell(name, replies[prompt.key], drafter, passing | written)
        written[name] = _judge_cell(cell, sentence, drafter)
    return written


def _read_cell(
    name: str, reply: Reply, drafter: DraftWriter, taken: Mapping[str, DraftedCell]
) -> DraftedCell:
    text = None if reply.text is None else clean_reply(reply.text)
    if not text:
        return DraftedCell(name, None, drafter.writer.model_id, (reply.error or "no text",))
    marks = check_written(name, text, taken.values())
    return DraftedCell(name, text, drafter.writer.model_id, tuple(marks))


def _judge_cell(cell: DraftedCell, sentence: str, drafter: DraftWriter) -> DraftedCell:
    """Return the cell, marked if a judge is configured and does not call it the same as the sentence."""
    judge = drafter.judge
    if judge is None or not cell.is_passing or cell.text is None:
        return cell
    prompts = judge.build_prompts(fill_names(sentence), fill_names(cell.text), (HEAD,), (TAIL,))
    replies = _ask(drafter, judge.writer, list(prompts))
    if all(judge.decide(judge.read_score(replies[prompt.key])) for prompt in prompts):
        return cell
    return DraftedCell(cell.transformation, cell.text, cell.origin, ("judge: does not say the same",))


def _ask(drafter: DraftWriter, writer: Writer, prompts: list[WriterPrompt]) -> Mapping[str, Reply]:
    with drafter.show(f"drafts {writer.config.name}", len(prompts)) as advance:
        return ask_for_replies(drafter.mirror, writer, prompts, advance, drafter.load)
