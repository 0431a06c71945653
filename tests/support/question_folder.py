"""A data folder on disk with questions about knowledge points, and models that answer them by a rule."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from pretexeval.storage.records import write_record
from schemas.question_stages import FACET_OF, LETTERS, QUESTIONS
from tests.support.data_folder import DataFolder, Fail, fail_response
from tests.support.stage_rows import Row, describe_file, digest, response_row, write_evaluation, write_rows
from warehouse.records import require_record

# The answer of a model to a repeat of a question; None is no answer.
AnswerRule = Callable[[Row, int], str | None]
# Whether the thought of a repeat of a question did not end.
ThoughtRule = Callable[[Row, int], bool]
FORMS = [("MCQ", ""), ("RQ", "right"), ("RQ", "wrong"), ("MAQ", ""), ("TFQ", "")]


@dataclass(frozen=True)
class Point:
    """A knowledge point; its tails are those of the pair about it, if there is one."""

    relation: str
    name: str
    true: str = "Fever"
    false: str = "Itch"
    has_pair: bool = True
    has_head: bool = True
    split: str = "test"
    n_options: int = 4
    left_out: tuple[str, ...] = ()
    """The forms of questions that it lacks, such as `negated MCQ`."""

    @property
    def point_id(self) -> str:
        return digest("point", self.relation, self.name)

    def list_questions(self) -> list[Row]:
        """Return up to ten questions: five forms, each also negated."""
        return [
            self._ask(kind, offer, is_negated)
            for is_negated in (False, True)
            for kind, offer in FORMS
            if f"{'negated ' if is_negated else ''}{kind}" not in self.left_out
        ]

    def _ask(self, kind: str, offer: str, is_negated: bool) -> Row:
        place = int(digest(self.point_id, kind, is_negated), 16)
        others = [f"{self.name} option {k}" for k in range(self.n_options - 2)]
        options = [self.false, *others]
        right = place % self.n_options
        options.insert(right, self.true)
        letter = LETTERS[right]
        other = LETTERS[(right + 1) % self.n_options]
        answer = {
            "MCQ": letter,
            "RQ": f"{'T' if offer == 'right' else 'F'}|{letter}",
            "MAQ": ",".join(sorted({letter, other})),
            "TFQ": "TF"[place % 2],
        }[kind]
        return {
            "question_id": digest(self.point_id, kind, offer, is_negated),
            "point_id": self.point_id,
            "pair_id": digest(self.relation, self.name) if self.has_pair else None,
            "relation": self.relation,
            "head": self.name if self.has_head else None,
            "split": self.split,
            "facet": FACET_OF[kind],
            "type": kind,
            "is_negated": is_negated,
            "text": f"{kind} {offer} about {self.name}{' not' if is_negated else ''}?",
            "options": [] if kind == "TFQ" else options,
            "answer": answer,
            "offered": {"right": letter, "wrong": other}.get(offer),
            "source": None,
        }


@dataclass
class QuestionFolder:
    """A data folder that tests fill with points; the points with a pair are pairs of `data`, too."""

    data: DataFolder
    points: list[Point] = field(default_factory=list)

    def add_point(self, point: Point) -> None:
        self.points.append(point)
        if point.has_pair:
            self.data.add_pair(point.relation, point.name, point.true, point.false, point.split)

    def list_questions(self) -> list[Row]:
        return [row for point in self.points for row in point.list_questions()]

    def write_edition(
        self,
        edition_id: str,
        methods: tuple[str, ...] = (),
        knowledge: dict[str, str] | None = None,
        attempts: list[Row] | None = None,
    ) -> None:
        """Write an edition with the questions, and with the pairs and samples of `data`."""
        self.data.write_edition(edition_id, methods, knowledge=knowledge, attempts=attempts)
        folder = self.data.root / "editions" / edition_id
        manifest = require_record(folder / "manifest.json")
        questions = self.list_questions()
        for relation in sorted({row["relation"] for row in questions}):
            rows = [row for row in questions if row["relation"] == relation]
            write_rows(folder / "questions" / f"{relation}.parquet", QUESTIONS, rows)
            manifest["files"][f"questions/{relation}.parquet"] = describe_file(
                folder / "questions" / f"{relation}.parquet", len(rows)
            )
        write_record(folder / "manifest.json", manifest)

    def write_answers(
        self,
        edition_id: str,
        model_id: str,
        rule: AnswerRule,
        *,
        setting: str = "answer_only",
        n_repeats: int = 1,
        policies: tuple[str, ...] = ("strict",),
        fail: Fail = lambda _: None,
        cut: ThoughtRule = lambda *_: False,
    ) -> None:
        """Let the model answer every test question by its rule, and score the answers under every policy."""
        self.data.provide_model(model_id)
        requests, predictions, responses = [], [], []
        for question in self.list_questions():
            if question["split"] != "test":
                continue
            error = fail(question)
            answers = [None if error else rule(question, repeat) for repeat in range(n_repeats)]
            key = digest(model_id, setting, question["question_id"], n=32)
            asked = {
                "item_id": question["question_id"],
                "model_id": model_id,
                "prompt_key": key,
                "relation": question["relation"],
            }
            for repeat, answer in enumerate(answers):
                given = response_row(model_id, key, question["text"], None) | {"repeat": repeat}
                given["response"] = f"The answer is {answer}"
                responses.append(given | (fail_response(error) if error else {}))
                read: Row = {"answer": answer, "rule": answer and "answer_is", "error": error}
                read["is_unfinished_reasoning"] = cut(question, repeat) or None
                requests.append(asked | {"repeat": repeat, "n_demonstrations_dropped": 1} | read)
            voted = asked | {"repeat": 0} | vote(answers)
            predictions += [voted | judge(question, voted, error, policy) for policy in policies]
        self.data.write_responses(f"{edition_id}-{setting}", model_id, responses)
        folder = self.data.root / "question_predictions" / edition_id / setting / model_id
        write_evaluation(folder, edition_id, requests, predictions)


def vote(answers: list[str | None]) -> Row:
    """Return the commonest answer, ties to the first, with the number of answers and of votes for it."""
    given = Counter(answer for answer in answers if answer is not None)
    winner, n_agreeing = given.most_common(1)[0] if given else (None, 0)
    return {"prediction": winner, "n_answers": given.total(), "n_agreeing": n_agreeing}


def judge(question: Row, voted: Row, error: str | None, policy: str) -> Row:
    """Score what was voted under a policy."""
    is_graded = error is None and (voted["prediction"] is not None or policy == "strict")
    is_correct = voted["prediction"] == question["answer"] if is_graded else None
    return {"scoring_policy": policy, "is_correct": is_correct, "error": error}


def always_right(question: Row, repeat: int) -> str | None:
    return str(question["answer"])


def agreeing(question: Row, repeat: int) -> str | None:
    """Agree with every offer and every statement, choose the first option, and tick it alone."""
    return {"RQ": f"T|{question['offered']}", "TFQ": "T"}.get(question["type"], "A")


def erratic(question: Row, repeat: int) -> str | None:
    """Answer by chance: nothing, something wrong, or the right answer, more often where a head is easy."""
    head = int(digest(question["head"] or question["point_id"]), 16) % 5
    draw = int(digest("erratic", question["question_id"], repeat), 16) % 10
    if draw == 0:
        return None
    return question["answer"] if draw > 1 + head else agreeing(question, repeat)


def silent(question: Row, repeat: int) -> str | None:
    return None


def fill_points(folder: QuestionFolder, n_options: tuple[int, ...] = (4,)) -> QuestionFolder:
    """Add points with shared heads and tails; some lack a pair, a head or a negated form."""
    tails = ["Fever", "Itch", "Rash", "Cough", "Pain"]
    for k in range(12):
        folder.add_point(
            Point(
                ("symptoms", "drugs")[k % 2],
                f"Disease {k // 2}",
                tails[k % 5],
                tails[(k + 1 + k % 3) % 5],
                has_pair=k not in (3, 8),
                n_options=n_options[k % len(n_options)],
                left_out=("negated MCQ", "negated RQ") if k % 4 == 1 else (),
            )
        )
    folder.add_point(Point("exam", "Case 1", has_pair=False, has_head=False, n_options=n_options[0]))
    folder.add_point(Point("exam", "Case 2", has_pair=False, has_head=False, n_options=n_options[-1]))
    folder.add_point(Point("symptoms", "Migraine", split="demonstration"))
    return folder
