"""An edition: one frozen, named test set. Its plan, its name, and how it is completed."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import polars as pl

from config.file import Config
from knowledge.base import KnowledgeBase, LeftOut
from knowledge.read import read_knowledge_base
from primitives.errors import InputError
from primitives.hashing import hash_json
from prototypes.pool import Pool, check_pool, load_pool
from schemas.stages import ATTEMPTS, EDITION_STAGES, SAMPLES, TRIPLETS, Stage
from storage.files import FileRef, write_json
from storage.layout import edition_folder, manifest_file, stage_file
from storage.records import list_files, read_manifest_files
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
        return edition_folder(self.edition_id)

    def path_of(self, stage: str, relation: str) -> str:
        """A stage's file of a relation, relative to the root."""
        return stage_file(self.edition_id, stage, relation)

    def read_files(self) -> dict[str, FileRef]:
        """Return path -> file as the manifest lists them; empty until the edition is complete."""
        return read_manifest_files(self.root, self.edition_id)

    def is_complete(self) -> bool:
        """Whether the manifest is there; its files may be damaged."""
        return (self.root / manifest_file(self.edition_id)).is_file()

    def is_whole(self) -> bool:
        """Whether the edition is complete and every one of its files is intact."""
        return self._is_intact(self.read_files().values())

    def is_worded(self) -> bool:
        """Whether it is complete and every file that a language model had a part in is intact."""
        files = self.read_files().items()
        return self._is_intact([ref for path, ref in files if WORDED & set(path.split("/"))])

    def _is_intact(self, files: Collection[FileRef]) -> bool:
        return bool(files) and all(ref.is_intact(self.root) for ref in files)


def plan_edition(config: Config) -> Edition:
    """Return the edition that a configuration describes; nothing is written.

    The last plan is kept as long as the files that it was read from stay as they are, so that the flows of
    one command read the knowledge base once.

    Raises:
        InputError: if the knowledge base or the pool cannot be used, or the pool lacks a relation.
    """
    return _plan_edition(config, _list_stamps(config))


@lru_cache(maxsize=1)
def _plan_edition(config: Config, _: tuple[object, ...]) -> Edition:
    base = read_knowledge_base(config.knowledge)
    pool = load_pool(config.edition.pool)
    if problems := check_pool(pool, base.relations):
        raise InputError("; ".join(problems))
    return Edition(config, base, pool)


def _list_stamps(config: Config) -> tuple[object, ...]:
    """What changes when a file that a plan is read from changes: size and time of every one of them."""
    named = (config.knowledge.path, config.edition.pool, *(writer.model for writer in config.writers))
    files = [file for source in named if source is not None for file in _list_files(Path(source))]
    stamps = ((str(file), status.st_size, status.st_mtime_ns) for file in files if (status := file.stat()))
    # Relative paths start at the working directory.
    return Path.cwd(), *stamps


def _list_files(source: Path) -> list[Path]:
    """The file, or every file directly in the folder; none if there is neither."""
    if source.is_dir():
        return sorted(path for path in source.iterdir() if path.is_file())
    return [source] if source.is_file() else []


def complete_edition(edition: Edition, files: Sequence[FileRef], left_out: list[LeftOut]) -> str:
    """Write the manifest: from here on the edition never changes. Its name."""
    table = edition.config.edition
    path = edition.root / manifest_file(edition.edition_id)
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
