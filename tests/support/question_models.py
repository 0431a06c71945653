"""Models that answer questions by a rule, and the points that they are asked about."""

from tests.support.question_folder import Point, QuestionFolder
from tests.support.stage_rows import Row, digest


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
