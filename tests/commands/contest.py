"""Designed models on one small edition: their scores differ by what their rules say."""

from pathlib import Path

import polars as pl

from benchmarks.designed_models import MODELS, Pairs, Statement
from pretexeval.storage.records import write_record
from schemas.transformations import TRANSFORMATIONS
from tests.support.data_folder import DataFolder, Rule
from tests.support.stage_rows import Row, write_run
from warehouse.publishing import build_warehouse
from warehouse.records import require_record

EDITION = "contest-weekly-0000000a"
N_PAIRS = 60
INVERTED = {each.name for each in TRANSFORMATIONS if each.is_inverted}
ODD_NAME = "<b>twin</b> & \x1b[31mco"


def follow(name: str, data: DataFolder) -> Rule:
    """Return the rule of the designed model with this name."""
    heads = [(relation, head) for relation, head, *_ in data.pairs]
    (model,) = (each for each in MODELS if each.name == name)
    pairs = Pairs(len(heads), frozenset(heads[::2]), ())

    def answer(sample: Row) -> bool | None:
        columns = ("text", "relation", "head", "tail", "is_positive")
        statement = Statement(
            **{column: sample[column] for column in columns},
            is_inverted=sample["transformation"] in INVERTED,
            is_negated=sample["label"] != sample["is_positive"],
        )
        return model.answer(statement, pairs)

    return answer


def hesitate(sample: Row, rule: Rule) -> bool | None:
    """Give no answer to one form of every second disease."""
    is_hesitant = sample["transformation"] == "inv" and int(sample["head"].split()[1]) % 2
    return None if is_hesitant else rule(sample)


def publish_contest(root: Path) -> DataFolder:
    """Publish an edition of 60 pairs that designed models answered, and models that cannot be compared.

    knows-all, knows-half, blind-to-inversion and random are designed models; `twin` answers like knows-all
    under a hostile name. broken: every prompt failed. chatty: asked in another style. lenient: scored under
    another policy. unsure: without an answer to some samples. early and late: each answered one relation,
    and not the same one.
    """
    data = DataFolder(root, label="weekly")
    for k in range(N_PAIRS):
        relation = "signs" if k < N_PAIRS // 2 else "sites"
        data.add_pair(relation, f"Disease {k}", f"{relation} {k}", f"{relation} {k + 1}")
    data.write_edition(EDITION)
    expert = follow("knows-all", data)
    for name in ("knows-all", "knows-half", "blind-to-inversion", "random"):
        data.write_model(name)
        data.write_answers(EDITION, name, follow(name, data), policies=("strict", "excluded"))
    for name in ("twin", "broken", "chatty", "lenient", "early", "late", "unsure"):
        data.write_model(name)
    write_record(
        data.root / "responses/twin/model.json", {"model_id": "twin", "name": ODD_NAME, "engine": "x"}
    )
    data.write_answers(EDITION, "twin", expert)
    data.write_answers(EDITION, "unsure", lambda sample: hesitate(sample, expert), policies=("excluded",))
    data.write_answers(EDITION, "broken", expert, fail=lambda _: "HTTP 500")
    data.write_answers(EDITION, "chatty", expert)
    path = data.root / "predictions" / EDITION / "chatty/requests/all.parquet"
    asked = pl.read_parquet(path)
    asked.with_columns(prompt_style=pl.lit("chat")).write_parquet(path)
    record = require_record(path.parents[1] / "run.json")
    write_run(path.parents[1], {name: value for name, value in record.items() if name != "files"})
    data.write_answers(EDITION, "lenient", expert, policies=("coin-flip",))
    for name, relation in (("early", "signs"), ("late", "sites")):
        part = DataFolder(root, [pair for pair in data.pairs if pair[0] == relation])
        part.write_answers(EDITION, name, expert)
    build_warehouse(root)
    return data
