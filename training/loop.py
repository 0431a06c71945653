"""The training of a model from its recipe, with a saved state after each part."""

import json
import time
from collections.abc import Iterator, Sequence
from itertools import chain, count, islice
from pathlib import Path
from random import Random
from statistics import mean
from typing import Any

import torch
from transformers import PreTrainedTokenizerFast

from training.lessons import STRANGERS, Lesson, Phase, Recipe, Subject
from training.question_lessons import plan_questions
from training.statement_lessons import plan_statements
from training.student import MARKS, Encoder, Student, train_tokenizer
from training.writing_lessons import plan_writing

PLANS = {"statements": plan_statements, "questions": plan_questions, "writing": plan_writing}
"""Kind of model -> the function that plans its lessons."""
WARM_UP_STEPS = 40
# The most draws of lessons that a part of the training can use.
DRAWS_PER_PART = 10_000


class Training:
    """The training of one model: its network, its optimizer, its lessons, and the loss curve so far."""

    def __init__(self, name: str, recipe: Recipe) -> None:
        """Prepare a training that has learned nothing yet. The name decides which heads it learns."""
        torch.manual_seed(0)
        self.recipe = recipe
        self.subject = Subject(name, recipe)
        self.course = PLANS[recipe.kind](self.subject)
        # A model that learns no facts judges no names and meets no strangers.
        strangers = [*STRANGERS, *self.subject.list_never_met()] if self.subject.known else []
        names = [*self.subject.entities, *strangers[: len(STRANGERS)]]
        self.tokenizer = train_tokenizer(self.course.texts, names, self.course.frame, recipe.vocabulary)
        judged = names if self.subject.known else []
        self.encoder = Encoder(self.tokenizer, judged, learns_names=self.course.learns_names)
        self.student = Student(self.tokenizer, strangers, recipe.hidden, recipe.layers)
        if recipe.copies:
            self.student.open_copying()
        self.optimizer = torch.optim.AdamW(self.student.parameters(), betas=(0.9, 0.98), weight_decay=0.01)
        self.curve: list[dict[str, Any]] = []
        """One row per part."""

    def train(self, state_file: Path) -> None:
        """Train the remaining parts. The state is saved after each part, and a new start continues there."""
        if state_file.exists():
            state = torch.load(state_file, weights_only=False)
            self.student.load_state_dict(state["network"])
            self.optimizer.load_state_dict(state["optimizer"])
            self.curve = state["curve"]
        state_file.parent.mkdir(parents=True, exist_ok=True)
        for number, part in list(enumerate(plan_parts(self.recipe.phases)))[len(self.curve) :]:
            self.curve.append(self._train_part(number, *part))
            print(json.dumps(self.curve[-1]), flush=True)
            learned = {"network": self.student.state_dict(), "optimizer": self.optimizer.state_dict()}
            torch.save({**learned, "curve": self.curve}, state_file.with_suffix(".next"))
            state_file.with_suffix(".next").replace(state_file)

    def save(self, folder: Path) -> None:
        """Write the weights and the tokenizer as transformers and vLLM load them."""
        self.student.llama.to(torch.bfloat16).save_pretrained(folder)
        marks, template = {f"{name}_token": mark for name, mark in MARKS.items()}, self.course.chat_template
        tokenizer = PreTrainedTokenizerFast(tokenizer_object=self.tokenizer, chat_template=template, **marks)
        tokenizer.save_pretrained(folder)

    def draw_lessons(self, kind: str, n_turns: int, part: int) -> Iterator[Lesson]:
        """Yield the lessons of one kind in one part, without end."""
        draw, random = self.course.draws[kind], Random(f"{kind} {part}")
        draws = (draw(n_turns, number, random) for number in count(part * DRAWS_PER_PART))
        return chain.from_iterable(draws)

    def _train_part(self, number: int, phase: Phase, is_first: bool, rates: list[float]) -> dict[str, Any]:
        """Train one part, and return its row of the loss curve."""
        started = time.process_time()
        torch.manual_seed(number)
        if is_first and phase.starts_anew:
            # An AdamW without its averages of gradients is a new one.
            self.optimizer.state.clear()
        if is_first and phase.softens_attention:
            self.student.soften_attention()
        lessons = {kind: self.draw_lessons(kind, phase.turns, number) for kind in phase.lessons}
        shares = [share for share, _ in phase.lessons.values()]
        kinds = Random(number).choices(list(phase.lessons), shares, k=phase.steps)
        found: dict[str, list[dict[str, float]]] = {kind: [] for kind in phase.lessons}
        n_tokens = 0
        for kind, rate in zip(kinds, rates, strict=True):
            batch = self.encoder.encode(list(islice(lessons[kind], phase.lessons[kind][1])))
            self.student.redraw_strangers()
            loss, measured = self.student.compute_losses(batch, phase.word_weight)
            for group in self.optimizer.param_groups:
                group["lr"] = rate
            self.optimizer.zero_grad()
            torch.autograd.backward(loss)
            torch.nn.utils.clip_grad_norm_(self.student.parameters(), 1.0)
            self.optimizer.step()
            found[kind].append(measured)
            n_tokens += batch.ids.numel()
        losses = {
            kind: {name: round(mean(row[name] for row in rows), 4) for name in rows[0]}
            for kind, rows in found.items()
            if rows
        }
        duration = round(time.process_time() - started, 1)
        row = {"part": number, "phase": phase.name, "losses": losses}
        return row | {"n_tokens": n_tokens, "duration_s": duration}


def plan_parts(phases: Sequence[Phase]) -> Iterator[tuple[Phase, bool, list[float]]]:
    """Yield for each part its phase, whether it is the first of it, and the learning rate of each step."""
    for begin, phase in enumerate(phases):
        if phase.starts_anew or begin == 0:
            # A schedule runs on until a phase starts anew.
            ends = (k for k in range(begin + 1, len(phases)) if phases[k].starts_anew)
            scheduled = phases[begin : next(ends, len(phases))]
            n_steps, n_done = sum(p.parts * p.steps for p in scheduled if not p.is_constant), 0
        for part in range(phase.parts):
            steps = range(n_done, n_done + phase.steps)
            shares = [1.0 if phase.is_constant else schedule_rate(step, n_steps) for step in steps]
            yield phase, part == 0, [phase.rate * share for share in shares]
            n_done += phase.steps


def schedule_rate(step: int, n_steps: int) -> float:
    """Return the share of the full learning rate: linear warm-up, level, linear decay over the last 60 %."""
    return min((step + 1) / WARM_UP_STEPS, 1.0, max(0.02, 1.7 * (1 - step / n_steps)))
