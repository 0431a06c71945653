"""A small root with every kind of file, and what `run` and `publish` do with it, without a Prefect server."""

import contextlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import duckdb
import polars as pl

from commands.review.grades import import_review
from pretexeval.config.questions import Setting
from pretexeval.engines.base import Engine
from pretexeval.primitives.errors import InputError
from pretexeval.storage.layout import WAREHOUSE
from pretexeval.storage.publication import hold_publication
from pretexeval.storage.store import Store
from prototypes.question_wording import QuestionTexts, QuestionWording, RelationWording
from report.page import write_pages
from schemas.question_stages import QUESTIONS
from schemas.stages import ATTEMPTS, SAMPLES, STATEMENTS, TRIPLETS, VARIANTS
from tasks.asking.model_records import restore_model_records
from tasks.asking.model_session import Advance
from tasks.edition.attempts import ask_rounds
from tasks.edition.edition import Edition
from tasks.edition.manifest import complete_edition, list_left_out
from tasks.edition.stage_files import StageFiles, check_files, provide_files, record_check
from tasks.edition.statements import join_entities
from tasks.evaluation.failures import write_failure
from tasks.quality.measurements import measure_edition, repair_measurements
from tests.support.evaluations import CountingEngine, evaluate
from tests.support.review_sheets import export_filled
from tests.support.small_bases import make_base, make_edition, make_facts
from warehouse.publishing import build_warehouse

BASE = make_base(r=make_facts(12, 6))
SETTING: Setting = "answer_only"
PERIOD = "2026-W47"
WORDING = QuestionWording(
    "own",
    {
        "r": RelationWording(
            "r",
            {
                "MCQ": QuestionTexts("Which of these has [X]?", "Which of these has [X] not?"),
                "MAQ": QuestionTexts("Which of these have [X]?", "Which of these have [X] not?"),
                "TFQ": QuestionTexts("[X] has |[Y]|.", "[X] does not have |[Y]|."),
            },
        )
    },
)
# Times, and whether an answer was asked or reused, are those of the last run.
VARYING = {"n_asked", "n_reused", "finished_at", "duration_s", "checked_at"}
# The view `checks` reads those tables of the schema storage.
TABLES = """
select if(table_schema = 'main', '', 'storage.') || table_name from information_schema.tables
where (table_schema = 'main' and table_type = 'BASE TABLE')
or (table_schema = 'storage' and table_name like '%\\_checks' escape '\\')
"""
Tables = dict[str, Counter[str]]
"""Table -> its rows, each as text."""


@dataclass(frozen=True)
class SmallRoot:
    """The root, and the folder of the recordings that identify its models."""

    root: Path
    recordings: Path

    def plan(self, seed: int) -> Edition:
        """Return the edition of seed 1, with the models `a` and `b`, or that of seed 2.

        A language model rewords the statements of the edition of seed 2. The model `a` is asked its samples
        and its questions.
        """
        models = [self._describe_model(name) for name in ("a", "b")[: 3 - seed]]
        tables: dict[str, object] = {"models": models}
        if seed == 1:
            return make_edition(self.root, BASE, seed=seed, tables=tables)
        tables |= {
            "writers": [self._describe_model("w")],
            "rephraser": {"kind": "model", "writer": "w", "max_attempts": 1},
            "questions": {"settings": [SETTING]},
        }
        return replace(make_edition(self.root, BASE, seed=seed, tables=tables), wording=WORDING)

    def plan_anchors(self) -> Edition:
        """Return the edition of anchors, which the model `a` is asked in one period."""
        tables = {"models": [self._describe_model("a")], "anchors": {"n_pairs": 2}}
        return make_edition(self.root, BASE, seed=3, label="anchors", tables=tables)

    def _describe_model(self, name: str) -> dict[str, str]:
        return {"name": name, "engine": "recorded", "model": str(self.recordings / f"{name}.parquet")}

    def run(self, seed: int) -> int:
        """Build an edition, evaluate its models, publish; return how many prompts were asked.

        Raises:
            InputError: as the command would.
        """
        edition, engine = self.plan(seed), CountingEngine()
        if not edition.is_whole():
            build(edition, engine)
        reasons = [
            reason
            for name, setting in edition.config.list_evaluations()
            if (reason := evaluate(edition.config, edition.edition_id, name, setting, load=lambda _: engine))
        ]
        self.publish(seed)
        if reasons:
            raise InputError("\n".join(reasons))
        return engine.n_asked

    def publish(self, seed: int) -> None:
        """Publish as the flow does, without its pages. Raises InputError as the command would."""
        edition = self.plan(seed)
        with hold_publication(Store(edition.config.storage)):
            models = (*edition.config.models, *edition.config.writers)
            restore_model_records(models, Store(edition.config.storage))
            measure_edition(self.root, edition.edition_id)
            repair_measurements(self.root, [path.name for path in (self.root / "editions").iterdir()])
            build_warehouse(self.root)

    def read_tables(self) -> Tables:
        """Return the rows of every table, without the columns that differ from run to run."""
        with duckdb.connect(str(self.root / WAREHOUSE), read_only=True) as connection:
            names = connection.execute(TABLES).fetchall()
            return {str(name): _read_rows(connection, str(name)) for (name,) in names}

    def fill(self) -> None:
        """Run the editions and the anchors, and add a failure, a review and pages."""
        for name in ("a", "b", "w"):
            frame = pl.DataFrame({"prompt": [name], "response": [name]})
            frame.write_parquet(self.recordings / f"{name}.parquet")
        self.run(1)
        self.run(2)
        anchors, engine = self.plan_anchors(), CountingEngine()
        build(anchors, engine)
        evaluate(anchors.config, anchors.edition_id, "a", None, PERIOD, lambda _: engine)
        first = self.plan(1)
        write_failure(Store(first.config.storage), first.config, first.edition_id, "gone", "it is down")
        sheet = export_filled(self.root, first.edition_id)
        import_review(self.root, sheet, "a")
        sheet.unlink()
        write_pages(self.root, [self.plan(2).edition_id])
        self.publish(2)


def build(edition: Edition, engine: Engine) -> None:
    """Build the stages as the flows build-test-set and rephrase-samples do."""
    triplets = provide_files(edition, TRIPLETS.name)
    variants = provide_files(edition, VARIANTS.name, triplets)
    statements = provide_files(edition, STATEMENTS.name, triplets, variants)
    stages = [triplets, variants, statements]
    attempts: list[StageFiles] = []
    if edition.rephraser:
        store = Store(edition.config.storage)
        if not edition.has_model_texts():
            rows = [join_entities(statements.read(edition.root, "r"), triplets.read(edition.root, "r"))]
            ask_rounds(store, rows, edition.rephraser, _show_nothing, lambda _: engine)
        attempts = [provide_files(edition, ATTEMPTS.name, triplets, statements)]
    stages += [*attempts, provide_files(edition, SAMPLES.name, triplets, statements, *attempts)]
    if edition.has_questions:
        stages.append(provide_files(edition, QUESTIONS.name, triplets))
    for stage in stages:
        record_check(edition, stage, check_files(edition, stage))
    files = [ref for stage in stages for ref in stage.files.values()]
    complete_edition(edition, files, list_left_out(edition, partial(triplets.read, edition.root)))


@contextlib.contextmanager
def _show_nothing(_: str, __: int) -> Iterator[Advance]:
    yield lambda _: None


def _read_rows(connection: duckdb.DuckDBPyConnection, name: str) -> Counter[str]:
    rows = connection.execute(f"from {name}")
    kept = [k for k, column in enumerate(rows.description or []) if column[0] not in VARYING]
    # The order in which threads add floats is not fixed.
    return Counter(
        str([float(f"{row[k]:.9g}") if isinstance(row[k], float) else row[k] for k in kept])
        for row in rows.fetchall()
    )
