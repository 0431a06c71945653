"""An edition: one frozen, named test set. Its plan, its name, and how it is completed."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote

import polars as pl

from config.file import Config
from knowledge.base import KnowledgeBase, LeftOut
from knowledge.read import read_knowledge_base
from primitives.errors import InputError
from primitives.hashing import hash_json
from prototypes.pool import Pool, check_pool, load_pool
from schemas.stages import ATTEMPTS, EDITION_STAGES, SAMPLES, TRIPLETS, Stage
from storage.files import FileRef, write_json
from storage.records import list_files, manifest_path, read_manifest_files
from tasks.asking.writers import Writer, identify_writer
from tasks.edition.attempts import Judge, Rephraser
from tasks.edition.llmeval import Llmeval
from tasks.edition.triplets import TripletSampling, sample_triplets

# Raised when the same configuration gives another test set, so that no edition ever changes.
EDITION_FORMAT = 1
WORDED = {ATTEMPTS.name, SAMPLES.name}
NO_NEGATIVE = "no negative could be drawn for it"


@dataclass(frozen=True)
class Edition:
    """The plan of an edition: everything that its files depend on."""

    config: Config
    base: KnowledgeBase
    pool: Pool

    @property
    def root(self) -> Path:
        """Where all data lies."""
        return self.config.storage.root

    @property
    def sampling(self) -> TripletSampling:
        """How its triplets are drawn."""
        table = self.config.edition
        return TripletSampling(table.seed, table.negatives, table.heads_per_relation)

    @property
    def label(self) -> str:
        """The middle part of its name."""
        return self.config.edition.label or f"seed{self.config.edition.seed}"

    @cached_property
    def rephraser(self) -> Rephraser | None:
        """The language model that rewords its statements, if one does."""
        table, judge = self.config.rephraser, self.config.judge
        if table.writer is None:
            return None
        return Rephraser(
            identify_writer(self.config.find_writer(table.writer)),
            table.instruction,
            table.temperature,
            table.max_tokens,
            table.max_attempts,
            self.config.edition.seed,
            None
            if judge.writer is None
            else Judge(
                identify_writer(self.config.find_writer(judge.writer)), judge.instruction, judge.is_binding
            ),
        )

    @cached_property
    def llmeval(self) -> Llmeval | None:
        """The language model that writes the statements of method llmeval, if it is asked for."""
        table = self.config.llmeval
        if table.writer is None or "llmeval" not in self.config.edition.methods:
            return None
        writer = identify_writer(self.config.find_writer(table.writer))
        return Llmeval(writer, table.instruction, table.max_tokens)

    @property
    def stages(self) -> tuple[Stage, ...]:
        """What it consists of, in the order in which it is made; attempts only by a language model."""
        return tuple(s for s in EDITION_STAGES if s is not ATTEMPTS or self.rephraser is not None)

    @property
    def writers(self) -> tuple[Writer, ...]:
        """The language models that have a part in it."""
        judge = self.rephraser and self.rephraser.judge
        return tuple(each.writer for each in (self.rephraser, judge, self.llmeval) if each is not None)

    @property
    def rephraser_name(self) -> str:
        """Who words its samples, as every table has it: none, reviewed, or a model id."""
        return self.config.rephraser.kind if self.rephraser is None else self.rephraser.writer.model_id

    @cached_property
    def configuration(self) -> dict[str, Any]:
        """What makes it this edition and no other, as JSON: the same on every machine."""
        table = self.config.edition
        relations = self.base.relations
        llmeval = {} if self.llmeval is None else {"llmeval": self.llmeval.describe()}
        return {
            "format": EDITION_FORMAT,
            "kb": self.base.name,
            "seed": table.seed,
            "negatives": table.negatives,
            "heads_per_relation": table.heads_per_relation,
            "methods": list(table.methods),
            "pool": self.pool.name,
            "rephraser": self.describe_rephraser(),
            **llmeval,
            "knowledge": {r: self.base.checksum_relation(r) for r in relations},
            "prototypes": {r: self.pool.checksum_relation(r) for r in relations},
        }

    def describe_rephraser(self) -> dict[str, Any]:
        """Who words its samples, and how it is asked, as JSON."""
        return {"kind": self.rephraser_name} if self.rephraser is None else self.rephraser.describe()

    @cached_property
    def edition_id(self) -> str:
        """`<kb>-<label>-<hash8>`."""
        return f"{self.base.name}-{self.label}-{hash_json(self.configuration, digits=8)}"

    @property
    def folder(self) -> str:
        """Its folder, relative to the root."""
        return f"editions/{self.edition_id}"

    def path_of(self, stage: str, relation: str) -> str:
        """A stage's file of a relation, relative to the root."""
        return f"{self.folder}/{stage}/{quote(relation, safe='')}.parquet"

    @property
    def is_whole(self) -> bool:
        """Whether it is complete and every one of its files is intact."""
        return bool(self.promised) and all(ref.is_intact(self.root) for ref in self.promised.values())

    @property
    def is_worded(self) -> bool:
        """Whether it is complete and every file that a language model had a part in is intact."""
        files = [ref for path, ref in self.promised.items() if WORDED & set(path.split("/"))]
        return bool(files) and all(ref.is_intact(self.root) for ref in files)

    @cached_property
    def promised(self) -> dict[str, FileRef]:
        """Path -> file of the manifest; empty until the edition is complete."""
        return read_manifest_files(self.root, self.edition_id)


def plan_edition(config: Config) -> Edition:
    """The edition that a configuration describes; nothing is written.

    Raises:
        InputError: if the knowledge base or the pool cannot be used, or the pool lacks a relation.
    """
    base = read_knowledge_base(config.knowledge)
    pool = load_pool(config.edition.pool)
    if problems := check_pool(pool, base.relations):
        raise InputError("; ".join(problems))
    return Edition(config, base, pool)


def complete_edition(edition: Edition, files: Sequence[FileRef], left_out: list[LeftOut]) -> str:
    """Write the manifest: from here on the edition never changes. Its name."""
    table = edition.config.edition
    path = manifest_path(edition.root, edition.edition_id)
    n_triplets = sum(ref.n_rows for ref in files if f"/{TRIPLETS.name}/" in ref.path)
    manifest = {
        "edition_id": edition.edition_id,
        "kb": edition.base.name,
        "label": edition.label,
        "seed": table.seed,
        "negatives": table.negatives,
        "pool": edition.pool.name,
        "rephraser": edition.rephraser_name,
        "methods": list(table.methods),
        "n_pairs": n_triplets // 2,
        "configuration": edition.configuration,
        "left_out": [vars(item) for item in left_out],
        "files": list_files(files, edition.folder),
    }
    if not path.exists():
        write_json(path, manifest)
    return edition.edition_id


def list_left_out(edition: Edition, triplets: pl.DataFrame) -> list[LeftOut]:
    """What the source holds and the edition does not: rows of the base, and heads without a negative."""
    left_out = list(edition.base.left_out)
    kept = dict(triplets.group_by("relation").agg(pl.n_unique("head")).iter_rows())
    for relation in edition.base.relations:
        rows = edition.base.select_relation(relation)
        n_heads = rows.filter(~pl.col("also_true"))["head"].n_unique()
        if kept.get(relation, 0) < min(n_heads, edition.sampling.heads_per_relation or n_heads):
            drawn = sample_triplets(relation, rows, edition.sampling)
            left_out += [LeftOut(relation, head, NO_NEGATIVE) for head in drawn.left_out]
    return left_out
