"""Items: what a model is asked about. Samples and questions are rewritten to the same columns.

item_id   sample_id or question_id
point_id  what a held-out item demonstrates: the pair of a sample, the point of a question
unit_id   items of a unit are asked together or not at all: the pair, or the point of questions without pairs
relation, split
group     method of a sample, type of a question
form      transformation of a sample (null for llmeval); "negated" for a negated question, else null
type      MCQ, RQ, MAQ or TFQ; a sample is a true/false question, or TFU with the third answer Unsure
text, options, offered
answer    right answer, written as in the stage questions
weight    how many samples of its triplet it stands for in averages: 1, unless fewer are asked (enough.py)
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import polars as pl

from pretexeval.primitives.hashing import draw_one, draw_order, hash_text
from schemas.columns import Stage
from schemas.question_stages import QUESTIONS
from schemas.stages import DEMONSTRATION_SALT, N_DEMONSTRATIONS, SAMPLES
from tasks.answers.reading import Reading, read_answer

GROUP = ("relation", "group", "form")
"""Items with the same values share their demonstrations."""
Group = tuple[str, str, str | None]


@dataclass(frozen=True)
class ItemKind:
    """One of the kinds of items of an edition: what differs between samples and questions."""

    stage: Stage
    """The stage of the edition that holds their rows; its key is the id of the items."""
    read_items: Callable[[pl.DataFrame], pl.DataFrame]
    """Returns the items of rows of the stage."""
    draw_group: Callable[[pl.DataFrame, Group], list[str]]
    """Returns the ids of the demonstrations of a group, in their order, from its held-out items."""
    read_texts: Callable[[pl.DataFrame], list[Reading]]
    """Returns what each item answers. The column ``said`` holds the text with the answer, or null."""
    has_votes: bool
    """True if the repeats of an item vote on one prediction. Otherwise each repeat has its own."""

    @property
    def id_column(self) -> str:
        """The column of the stage that holds the ids of the items."""
        return self.stage.key[0]

    def draw_demonstrations(self, items: pl.DataFrame) -> pl.DataFrame:
        """Return the held-out items that are shown as demonstrations, in their order within each group.

        They do not depend on the edition's seed. A group has `N_DEMONSTRATIONS` of them, or fewer.

        Args:
            items: all items of one relation or several, of both splits.
        """
        held_out = items.filter(pl.col("split") == "demonstration")
        groups = held_out.partition_by(*GROUP, as_dict=True, maintain_order=True)
        chosen = [item_id for key, rows in groups.items() for item_id in self.draw_group(rows, key)]
        order = pl.DataFrame({"item_id": chosen}, {"item_id": pl.String})
        return order.join(items, on="item_id", how="left", maintain_order="left").select(items.columns)


def _read_samples(samples: pl.DataFrame) -> pl.DataFrame:
    return samples.select(
        item_id="sample_id",
        point_id="pair_id",
        unit_id="pair_id",
        relation="relation",
        split="split",
        group="method",
        form="transformation",
        type=pl.lit("TFQ"),
        text="text",
        options=pl.lit([], pl.List(pl.String)),
        offered=pl.lit(None, pl.String),
        answer=pl.when("label").then(pl.lit("T")).otherwise(pl.lit("F")),
        weight=pl.lit(1, pl.Int16),
    )


def _read_unsure_samples(samples: pl.DataFrame) -> pl.DataFrame:
    return _read_samples(samples).with_columns(type=pl.lit("TFU"))


def _read_questions(questions: pl.DataFrame) -> pl.DataFrame:
    # Points that have a pair are chosen by it, so that a model is asked about the same points in both kinds.
    has_pairs = questions["pair_id"].is_not_null().any()
    return questions.select(
        item_id="question_id",
        point_id="point_id",
        unit_id="pair_id" if has_pairs else "point_id",
        relation="relation",
        split="split",
        group="type",
        form=pl.when("is_negated").then(pl.lit("negated")),
        type="type",
        text="text",
        options="options",
        offered="offered",
        answer="answer",
        weight=pl.lit(1, pl.Int16),
    )


def _draw_group_of_samples(rows: pl.DataFrame, group: Group) -> list[str]:
    """Return one sample per held-out pair: 2 or 3 of 5 are true."""
    relation, _, transformation = group
    salt = (DEMONSTRATION_SALT, relation, str(transformation))
    ids: dict[tuple[str, bool], str] = {
        (pair_id, answer == "T"): item_id
        for pair_id, answer, item_id in rows.sort("point_id", "answer", "text")
        .select("point_id", "answer", "item_id")
        .iter_rows()
    }
    pairs = draw_order({pair_id for pair_id, _ in ids}, *salt)[:N_DEMONSTRATIONS]
    n_true = len(pairs) // 2 + int(hash_text(*salt, "n_true"), 16) % 2
    true_pairs = set(draw_order(pairs, *salt, "true")[:n_true])
    # A triplet of llmeval may have no usable text. The other triplet of its pair is then shown.
    labels = {pair: (pair in true_pairs) == ((pair, pair in true_pairs) in ids) for pair in pairs}
    return [ids[pair, labels[pair]] for pair in pairs]


def _draw_group_of_questions(rows: pl.DataFrame, group: Group) -> list[str]:
    """Return one question per held-out point.

    Where a point has two questions of the group, with a true and a false offer or statement, the points take
    turns, so that 2 or 3 of 5 are true.
    """
    relation, type_, form = group
    salt = (DEMONSTRATION_SALT, relation, type_, str(form == "negated"))
    chosen = []
    for k, point_id in enumerate(draw_order(rows["point_id"].unique(), *salt)[:N_DEMONSTRATIONS]):
        of_point = rows.filter(pl.col("point_id") == point_id)
        wanted = of_point.filter(pl.col("answer").str.starts_with("TF"[k % 2]))
        ids = (wanted if wanted.height else of_point)["item_id"]
        chosen.append(draw_one(ids, *salt, point_id))
    return chosen


def _read_truths(asked: pl.DataFrame) -> list[Reading]:
    """Return whether each text says true or false (method, section 3), or that it is unsure if asked so."""
    readings = {row: read_answer(*row) for row in asked.select("type", "said").unique().iter_rows()}
    return [readings[row] for row in asked.select("type", "said").iter_rows()]


def _read_answers(asked: pl.DataFrame) -> list[Reading]:
    """Return the answer that each text gives to its question."""
    rows = asked.select("type", "said", "options", "offered", "text")
    return [read_answer(*row) for row in rows.iter_rows()]


SAMPLE_ITEMS = ItemKind(SAMPLES, _read_samples, _draw_group_of_samples, _read_truths, has_votes=False)
UNSURE_ITEMS = replace(SAMPLE_ITEMS, read_items=_read_unsure_samples)
"""Samples that are asked with a third answer; their demonstrations are the same."""
QUESTION_ITEMS = ItemKind(QUESTIONS, _read_questions, _draw_group_of_questions, _read_answers, has_votes=True)


def select_items(items: pl.DataFrame, limit: int | None, unit: str = "unit_id") -> pl.DataFrame:
    """Return the test items of one relation: of all units, or of the first ones in the order of hashes.

    Args:
        limit: how many units (pairs or points) the model is asked about; None: all of them.
        unit: the column of the units; of samples that are not rewritten to items, pair_id.
    """
    tested = items.filter(pl.col("split") == "test")
    if limit is None:
        return tested
    return tested.filter(pl.col(unit).is_in(draw_units(tested[unit], limit)))


def draw_units(units: pl.Series, limit: int) -> list[str]:
    """Return the units that a model is asked about: the first ones in the order of hashes."""
    return draw_order(units.drop_nulls().unique(), "asked")[:limit]
