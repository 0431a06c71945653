"""Stage question_requests: the prompt of every question for one model, and the key of its answers."""

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from pretexeval.primitives.hashing import draw_one, draw_order
from schemas.exchange import hash_prompt
from schemas.question_stages import QUESTION_REQUESTS
from schemas.stages import DEMONSTRATION_SALT, N_DEMONSTRATIONS
from tasks.asking.question_prompts import AnsweredQuestion, AskedQuestion
from tasks.evaluation.requests import Requests, RequestSettings

GROUP = ("relation", "type", "is_negated")
"""Questions that share their demonstrations."""
Group = tuple[str, str, bool]


QUESTION_REQUESTS_VERSION = 1
"""Count it up when the builder gives other requests for the same arguments."""


@dataclass(frozen=True)
class QuestionRequestBuilder:
    """Builds the requests of one setting."""

    n_repeats: int = 1
    is_reasoned: bool = False
    """Whether the model reasons before it answers."""

    def __call__(
        self, questions: pl.DataFrame, settings: RequestSettings, points_per_relation: int | None
    ) -> Requests:
        """Return one request per test question of one relation and repeat.

        Questions that share their demonstrations follow each other.

        Args:
            questions: the questions of the relation, of both splits.
            points_per_relation: how many points the model is asked about; None: all of them.
        """
        asked = select_questions(questions, points_per_relation).sort(*GROUP, "question_id")
        demonstrations = self._show_demonstrations(questions, settings.chains)
        rows, prompts = [], []
        for row in asked.iter_rows(named=True):
            shots = demonstrations.get((row["relation"], row["type"], row["is_negated"]), ())
            question = build_question(row).render(is_reasoned=self.is_reasoned)
            prompt, n_dropped = settings.fit(shots, question)
            key = hash_prompt(settings.model_id, prompt, settings.sampling)
            for repeat in range(self.n_repeats):
                rows.append((row["question_id"], key, repeat, row["relation"], n_dropped))
                prompts.append(prompt)
        schema = {
            "question_id": pl.String,
            "prompt_key": pl.String,
            "repeat": pl.Int16,
            "relation": pl.String,
            "n_demonstrations_dropped": pl.Int16,
        }
        frame = pl.DataFrame(rows, schema, orient="row").with_columns(
            pl.lit(settings.model_id).alias("model_id"),
            pl.lit(settings.form.style).alias("prompt_style"),
            pl.lit(settings.sampling.render_json()).alias("sampling"),
        )
        return Requests(frame.select(QUESTION_REQUESTS.names), prompts)

    def _show_demonstrations(
        self, questions: pl.DataFrame, chains: Mapping[str, str]
    ) -> dict[Group, tuple[AnsweredQuestion, ...]]:
        """Return group -> its demonstrations; those of a reasoned setting need a chain of thought."""
        shown: dict[Group, list[AnsweredQuestion]] = {}
        for row in select_demonstrations(questions).iter_rows(named=True):
            chain = chains.get(row["question_id"])
            if self.is_reasoned == (chain is not None):
                group = (row["relation"], row["type"], row["is_negated"])
                shot = AnsweredQuestion(build_question(row), row["answer"], chain)
                shown.setdefault(group, []).append(shot)
        return {group: tuple(shots) for group, shots in shown.items()}


def build_question(row: Mapping[str, object]) -> AskedQuestion:
    """Return the question of a row of the stage questions."""
    return AskedQuestion(
        str(row["type"]),
        str(row["text"]),
        tuple(row["options"]),  # type: ignore[arg-type]
        None if row["offered"] is None else str(row["offered"]),
    )


def select_questions(questions: pl.DataFrame, points_per_relation: int | None) -> pl.DataFrame:
    """Return the test questions of one relation: of all points, or of the first ones in the order of hashes.

    Points that have a pair are chosen by it, so that a model is asked about the same points in questions and
    in samples.
    """
    tested = questions.filter(pl.col("split") == "test")
    if points_per_relation is None:
        return tested
    has_pairs = tested["pair_id"].is_not_null().any()
    column = "pair_id" if has_pairs else "point_id"
    kept = draw_order(tested[column].drop_nulls().unique(), "asked")[:points_per_relation]
    return tested.filter(pl.col(column).is_in(kept))


def select_demonstrations(questions: pl.DataFrame) -> pl.DataFrame:
    """Return the questions that are shown as demonstrations: of each group, one question per held-out point.

    Where a point has two questions of a group, with a true and a false offer or statement, the points take
    turns, so that 2 or 3 of 5 are true. They do not depend on the edition's seed.
    """
    held_out = questions.filter(pl.col("split") == "demonstration")
    chosen: list[str] = []
    for group, rows in held_out.partition_by(*GROUP, as_dict=True, maintain_order=True).items():
        salt = (DEMONSTRATION_SALT, *map(str, group))
        points = draw_order(rows["point_id"].unique(), *salt)[:N_DEMONSTRATIONS]
        for k, point in enumerate(points):
            of_point = rows.filter(pl.col("point_id") == point)
            wanted = of_point.filter(pl.col("answer").str.starts_with("TF"[k % 2]))
            ids = (wanted if wanted.height else of_point)["question_id"]
            chosen.append(draw_one(ids, *salt, point))
    order = pl.DataFrame({"question_id": chosen}, schema={"question_id": pl.String})
    return order.join(questions, on="question_id", how="left", maintain_order="left").select(
        questions.columns
    )
