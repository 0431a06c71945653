"""Measure the reference entailment model beside the rules: ``python -m training.measure_entailment``.

The rewordings are wordings of the relations that the training left out, filled with names of the starter
base. Sound ones are wordings of the statement's own cell; wrong ones are changed as in
`training.entailment_pairs`.
"""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from random import Random

import polars as pl

from config.tables import JudgeConfig, KnowledgeConfig
from engines.loading import load_engine
from gate.check import check_rewordings
from knowledge.reader import read_knowledge_base
from prototypes.pool import Pool, load_pool
from tasks.asking.writers import Reply, identify_writer
from tasks.judging.calibration import MAX_REJECTED, JudgedRewording, choose_threshold
from tasks.judging.judge import CLASSIFICATION, Judge, Thresholds, combine_scores
from training.card import MODELS
from training.entailment_card import NAME, KindScore, read_entailment_card, write_entailment_card
from training.entailment_pairs import SHARES, PairSource
from training.meanings import LEFT_OUT, list_meanings
from training.sound_edits import fill_sentence

SOUND = "same"
# Of these kinds, one of the two sentences entails the other, or the kind is no rewording of a statement.
UNUSED = ("weaker", "same, affirmed", "denied")
N_WRONG = 10
"""Wrong rewordings of each kind and relation."""


def list_rewordings(pool: Pool, relations: Sequence[str], names: Sequence[str], seed: int) -> pl.DataFrame:
    """Return relation, kind, statement, text, head, tail: all wordings, and N_WRONG wrong ones per kind."""
    random, rows = Random(seed), []
    everything = list_meanings([], pool, relations)
    for relation, meaning in zip(relations, everything, strict=True):
        source = PairSource([meaning], everything, names, random.randrange(2**31))
        drawn = [
            (SOUND, cell.prototype, wording)
            for cell in pool.relations[relation].cells.values()
            for wording in cell.wordings
        ]
        for kind in SHARES:
            if kind not in (SOUND, *UNUSED):
                drawn += [(kind, *pair) for pair in source.draw_templates(kind, meaning, N_WRONG)]
        for kind, statement, text in drawn:
            head, tail = random.sample(list(names), 2)
            filled = (fill_sentence(each, (head, tail)) for each in (statement, text))
            rows.append((relation, kind, *filled, head, tail))
    columns = ["relation", "kind", "statement", "text", "head", "tail"]
    return pl.DataFrame(rows, schema=columns, orient="row")


def score_rewordings(folder: Path, rows: pl.DataFrame) -> list[float | None]:
    """Return the score that the model in this folder gives to each rewording."""
    config = JudgeConfig(model=str(folder), mask_names=True)
    writer = config.to_writer()
    assert writer is not None
    judge = Judge(identify_writer(writer), config)
    columns = rows.select("statement", "text", "head", "tail")
    asked = [
        prompt.prompt
        for statement, text, head, tail in columns.iter_rows()
        for prompt in judge.build_prompts(statement, text, (head,), (tail,))
    ]
    with closing(load_engine(writer)) as engine:
        replies = engine.generate(asked, CLASSIFICATION)
    scores = [judge.read_score(Reply(reply.response)) for reply in replies]
    return [combine_scores(*both) for both in zip(scores[::2], scores[1::2], strict=True)]


def count_rejected(rows: pl.DataFrame, scores: Sequence[float | None]) -> list[KindScore]:
    """Return a row per kind; each relation has the threshold that was chosen on the others."""
    judged = [
        JudgedRewording(relation, kind == SOUND, reasons, score)
        for relation, kind, reasons, score in zip(
            rows["relation"], rows["kind"], check_rewordings(rows), scores, strict=True
        )
    ]
    thresholds = {
        relation: Thresholds(
            choose_threshold([row for row in judged if row.relation != relation], MAX_REJECTED)
        )
        for relation in set(rows["relation"])
    }
    counted = []
    for kind in dict.fromkeys(rows["kind"]):
        own = [row for row, each in zip(judged, rows["kind"], strict=True) if each == kind]
        by_judge = [row.score is None or row.score < thresholds[row.relation].accept for row in own]
        either = sum(row.is_rejected(thresholds[row.relation]) for row in own)
        counted.append(
            KindScore(kind, len(own), sum(bool(row.reasons) for row in own), sum(by_judge), either)
        )
    return counted


def main() -> None:
    """Measure, and write the card again."""
    base = read_knowledge_base(KnowledgeConfig())
    names = sorted(base.triplets.select("head", "tail").unpivot()["value"].unique())
    rows = list_rewordings(load_pool("revised"), LEFT_OUT, names, seed=7)
    folder = MODELS / NAME
    scores = count_rejected(rows, score_rewordings(folder, rows))
    card = read_entailment_card(folder)
    write_entailment_card(folder, type(card)(card.name, card.loss_curve, scores))
    print((folder / "README.md").read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
