"""What is imported of a model's responses, as the subject of an evaluation (docs/models.md).

Nobody knows the prompts of imported responses. They are therefore stored under keys of the ids of their
questions or samples, and the evaluation consists of what was stored under such keys.
"""

from dataclasses import dataclass, fields

import polars as pl

from pretexeval.primitives.hashing import hash_json, hash_text
from pretexeval.storage.responses import ResponseStore
from tasks.evaluation.question_requests import QuestionRequestBuilder
from tasks.evaluation.requests import Requests, RequestSettings
from tasks.evaluation.subject import Subject

UNKNOWN_SAMPLING = "{}"


def hash_import(model_id: str, setting: str | None, row_id: str) -> str:
    """Return the key of the imported responses to a question or sample (32 hex digits)."""
    return hash_text("imported", model_id, setting or "", row_id, digits=32)


@dataclass(frozen=True)
class ImportedRequestBuilder:
    """Builds the requests of imported responses: one per stored response to a question or sample."""

    subject: Subject
    store: ResponseStore

    @property
    def id_column(self) -> str:
        """The column of the ids by which responses are joined: question_id or sample_id."""
        return self.subject.rows.key[0]

    def read_stored(self) -> pl.DataFrame:
        """Return prompt_key and repeat of every stored response of the model, sorted."""
        return self.store.read(["prompt_key", "repeat"]).sort("prompt_key", "repeat")

    def __call__(self, rows: pl.DataFrame, settings: RequestSettings, _: int | None) -> Requests:
        """Return one request per stored response. Its prompt shows the question without demonstrations."""
        built = self.build_once(rows, settings)
        keys = [hash_import(settings.model_id, self.subject.setting, i) for i in built.frame[self.id_column]]
        joined = (
            built.frame.drop("repeat")
            .with_columns(
                pl.Series("prompt_key", keys, pl.String), pl.lit(UNKNOWN_SAMPLING).alias("sampling")
            )
            .with_row_index("place")
            .join(self.read_stored(), on="prompt_key", maintain_order="left_right")
        )
        frame = joined.select(built.frame.columns)
        return Requests(frame, [built.prompts[place] for place in joined["place"]])

    def build_once(self, rows: pl.DataFrame, settings: RequestSettings) -> Requests:
        """Return one request per test question or sample, without demonstrations."""
        # Demonstrations are taken from the held-out rows.
        tested = rows.filter(pl.col("split") == "test")
        build = self.subject.build_requests
        if isinstance(build, QuestionRequestBuilder):
            build = QuestionRequestBuilder(is_reasoned=build.is_reasoned)
        return build(tested, settings, None)


@dataclass(frozen=True)
class ImportedSubject(Subject):
    """A subject whose requests depend on the responses that were imported."""

    @property
    def requests_key(self) -> str:
        """The version of the function that builds the requests, and the keys of the stored responses."""
        builder = self.build_requests
        assert isinstance(builder, ImportedRequestBuilder)
        return hash_json([super().requests_key, builder.read_stored().rows()])


def select_imported(subject: Subject, store: ResponseStore) -> ImportedSubject:
    """Return the subject restricted to what was imported. No model is asked, not even for chains."""
    values = {field.name: getattr(subject, field.name) for field in fields(Subject)}
    changed = {"build_requests": ImportedRequestBuilder(subject, store), "n_repeats": 1, "is_reasoned": False}
    return ImportedSubject(**{**values, **changed})
