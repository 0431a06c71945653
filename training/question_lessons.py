"""Lessons of questions: all types with their negations, about the heads that a model is to know.

The replies follow from the knowledge base, and their form from `tasks/asking`. They do not come from the
stage that builds the questions of an edition: a model contradicts a wrong answer there.
"""

import re
from collections.abc import Sequence
from itertools import combinations
from random import Random

from prototypes.question_wording import load_question_wording
from schemas.question_stages import LETTERS
from tasks.asking import prompts as asking
from tasks.asking.prompts import SEPARATOR, STATEMENT_QUESTION, THEREFORE, AskedQuestion, render_answer
from tasks.drawing.pieces import TripletSampling
from tasks.drawing.relation_facts import collect_facts
from tasks.evaluation.items import QUESTION_ITEMS
from tasks.questions.questions import draw_questions
from training.lessons import FIRST_SEED, STRANGERS, Course, Lesson, Subject, Turn, draw_lesson_triplets
from training.statement_lessons import CHAT_TEMPLATE, list_draws

N_OPTIONS = 4
OPTION_LETTERS = LETTERS[:N_OPTIONS]
FORMS = tuple((type_, is_negated) for type_ in ("MCQ", "RQ", "MAQ", "TFQ") for is_negated in (False, True))
"""Type of question, and whether it is negated."""
# A chain of thought judges every tail of a question with one of these sentences. The words must not hide the
# answer: "B is false." reads like the judgement of an RQ that offers B. They repeat no names: the models did
# not learn in this time to copy them (2.8 nats a word in prompts of six).
JUDGED_FACT = {True: "The two fit.", False: "The two do not fit."}
JUDGED_OPTION = {True: "{} fits.", False: "{} does not fit."}
# The share of questions about a stranger, and of wrong options that are true tails of other heads, drawn as
# often as they are true. The others are drawn from all tails alike.
SHARE_STRANGE, SHARE_COMMON = 0.1, 0.5
# How often a demonstration of the evaluation is left out where not all are shown, and how often that is.
SHARE_LEFT_OUT, SHARE_FEWER = 0.5, 0.3
# The token of a name includes the space before it.
NAME = re.compile(r" \[[XY]\]")

Form = tuple[str, bool]


def plan_questions(subject: Subject) -> Course:
    """Return the lessons of a model that learns to answer questions, and to verify statements."""
    taught = [TaughtRelation(name, subject) for name, tails in subject.tails.items() if tails]
    weights = [len(relation.heads["MAQ", False]) for relation in taught]

    def draw(n_turns: int, random: Random, *, is_reasoned: bool) -> list[Lesson]:
        (relation,) = random.choices(taught, weights)
        return [relation.draw_lesson(n_turns, random, is_reasoned=is_reasoned)]

    draws = list_draws(subject) | {
        "question": lambda turns, _number, random: draw(turns, random, is_reasoned=False),
        "reasoned": lambda turns, _number, random: draw(turns, random, is_reasoned=True),
    }
    texts = subject.pool.list_texts(subject.base.relations)
    return Course(draws, texts, list_frame(subject.base.relations), CHAT_TEMPLATE)


class TaughtRelation:
    """The known heads of a relation, and the demonstrations that the evaluation shows for it."""

    def __init__(self, name: str, subject: Subject) -> None:
        """Sort the heads by the questions that they can carry, and collect the demonstrations."""
        self.name, self.subject, self.tails = name, subject, subject.tails[name]
        self.wording = load_question_wording().select_relation(name)
        # A negated MCQ or RQ has three right tails.
        of_negated = [head for head, tails in self.tails.items() if len(tails) >= N_OPTIONS - 1]
        self.heads = {
            form: of_negated if form[1] and form[0] in ("MCQ", "RQ") else list(self.tails) for form in FORMS
        }
        self._common = [tail for tails in self.tails.values() for tail in tails]
        self._all = sorted(set(subject.base.select_relation(name)["tail"]))
        plain, reasoned = (show_demonstrations(subject, name, is_reasoned=each) for each in (False, True))
        self.shown = {False: plain, True: reasoned}

    def draw_lesson(self, n_turns: int, random: Random, *, is_reasoned: bool) -> Lesson:
        """Return a prompt of questions of one form, some after demonstrations of the evaluation."""
        form = random.choice([form for form in FORMS if self.heads[form]])
        shown: Sequence[Turn] = ()
        if n_turns > 1 and random.random() < self.subject.share_shown:
            shown, n_turns = self.shown[is_reasoned].get(form, ()), 1
            if is_reasoned or random.random() < SHARE_FEWER:
                # The evaluation shows a chain of thought only if it reached the right answer.
                shown = [turn for turn in shown if random.random() >= SHARE_LEFT_OUT]
        taught = [self.draw_turn(form, random, is_reasoned=is_reasoned) for _ in range(n_turns)]
        return Lesson((*shown, *taught), form[1])

    def draw_turn(self, form: Form, random: Random, *, is_reasoned: bool = False) -> Turn:
        """Return a question of this form about a head that can carry it, or about a stranger."""
        type_, is_negated = form
        is_strange = random.random() < SHARE_STRANGE
        head = random.choice(STRANGERS if is_strange else self.heads[form])
        true = self.tails.get(head, [])
        if type_ == "TFQ":
            is_true = bool(true) and random.random() < 0.5
            tail = random.choice(true) if is_true else self._draw_false(head, 1, random)[0]
            text = self.wording.texts["TFQ"].fill(is_negated=is_negated, head=head, tail=tail)
            answer = "T" if is_true != is_negated else "F"
            return build_turn(AskedQuestion("TFQ", text), answer, (is_true,), is_reasoned=is_reasoned)
        n_right = 0 if is_strange else N_OPTIONS - 1 if is_negated else 1
        if type_ == "MAQ" and not is_strange:
            n_right = random.randint(1, min(N_OPTIONS - 1, len(true)))
        options = [*random.sample(true, n_right), *self._draw_false(head, N_OPTIONS - n_right, random)]
        random.shuffle(options)
        truths = tuple(option in true for option in options)
        right = [letter for letter, truth in zip(LETTERS, truths, strict=False) if truth != is_negated]
        if is_strange:
            right = [random.choice(OPTION_LETTERS)]
        answer, offered = ",".join(right), None
        if type_ == "RQ":
            wrong = [letter for letter in OPTION_LETTERS if letter != answer]
            offered = answer if random.random() < 0.5 else random.choice(wrong)
            answer = f"{'T' if offered == answer else 'F'}|{answer}"
        text = self.wording.texts["MAQ" if type_ == "MAQ" else "MCQ"].fill(is_negated=is_negated, head=head)
        question = AskedQuestion(type_, text, tuple(options), offered)
        turn = build_turn(question, answer, truths, is_reasoned=is_reasoned)
        # A stranger has no right option: the model learns only that all options are false of it.
        return Turn(turn.question, turn.reply, turn.truths, is_taught=False) if is_strange else turn

    def _draw_false(self, head: str, n: int, random: Random) -> list[str]:
        false: list[str] = []
        while len(false) < n:
            tail = random.choice(self._common if random.random() < SHARE_COMMON else self._all)
            if tail not in self.subject.true.get((self.name, head), ()) and tail not in false:
                false.append(tail)
        return false


def build_turn(question: AskedQuestion, answer: str, truths: Sequence[bool], *, is_reasoned: bool) -> Turn:
    """Return the question with its reply, after a chain of thought if it is reasoned.

    The answer is written as in the stage questions; each tail of the question has a truth.
    """
    said = render_answer(question.type, answer)
    if is_reasoned:
        letters = zip(LETTERS, truths, strict=False)
        judged = [JUDGED_OPTION[truth].format(letter) for letter, truth in letters]
        thought = JUDGED_FACT[truths[0]] if len(truths) == 1 else " ".join(judged)
        said = f"{thought} {THEREFORE} {said}"
    return Turn(question.render(is_reasoned=is_reasoned), f" {said}", (None, *truths))


def show_demonstrations(subject: Subject, relation: str, *, is_reasoned: bool) -> dict[Form, list[Turn]]:
    """Return the demonstrations that the evaluation shows before the questions of each form."""
    triplets = draw_lesson_triplets(subject.base, relation, FIRST_SEED)
    facts = collect_facts(subject.base, relation)
    wording = load_question_wording().select_relation(relation)
    questions = draw_questions(facts, triplets, wording, TripletSampling(FIRST_SEED))
    shown: dict[Form, list[Turn]] = {}
    for row in QUESTION_ITEMS.draw_demonstrations(QUESTION_ITEMS.read_items(questions)).iter_rows(named=True):
        right, n_options = row["answer"].split("|")[-1].split(","), len(row["options"])
        marks = [letter in right for letter in LETTERS[:n_options]] or [row["answer"] == "T"]
        is_negated = row["form"] == "negated"
        truths = [mark != is_negated for mark in marks]
        question = AskedQuestion.from_row(row)
        turn = build_turn(question, row["answer"], truths, is_reasoned=is_reasoned)
        shown.setdefault((row["type"], is_negated), []).append(turn.show())
    return shown


def list_frame(relations: Sequence[str]) -> list[str]:
    """Return the fixed parts of prompts, and every reply to a question with four options.

    As one token each, they halve the length of prompts, and a model learns three times as fast.
    """
    pieces = set()
    """The parts of questions between the names."""
    for relation in relations:
        for type_, texts in load_question_wording().select_relation(relation).texts.items():
            for text in (texts.affirmed, texts.negated):
                first, *others = NAME.split(text)
                pieces |= {('Statement: "' if type_ == "TFQ" else "Question: ") + first, *others}
    offer, revise = asking.ASK_REVISION.split("{offered}")
    letters = [",".join(some) for n in range(1, N_OPTIONS) for some in combinations(OPTION_LETTERS, n)]
    judged = [text.format(letter) for text in JUDGED_OPTION.values() for letter in OPTION_LETTERS]
    answers = [render_answer("MAQ", some) for some in letters]
    answers += [render_answer("RQ", f"{truth}|{letter}") for truth in "TF" for letter in OPTION_LETTERS]
    return [
        *(f" {relation.replace('_', ' ')}" for relation in relations),
        *(STATEMENT_QUESTION.split("{}")[0], f'"{asking.ASK_TRUTH}', SEPARATOR, f" {THEREFORE}"),
        *(asking.ANSWER, asking.THINK, f"\n{asking.ASK_LETTER}", f"\n{asking.ASK_LETTERS}"),
        *(f"\n{offer}{letter}{revise}" for letter in OPTION_LETTERS),
        *(f"\n{letter}:" for letter in OPTION_LETTERS),
        *(f" {text}" for text in (*JUDGED_FACT.values(), *judged, *answers, "True", "False")),
        *sorted(pieces),
    ]
