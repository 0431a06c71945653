"""An edition, one frozen, named test set: its plan and its name."""

from collections.abc import Collection
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any

import polars as pl

from pretexeval.config.file import Config
from pretexeval.gate import GATE_VERSION
from pretexeval.knowledge.base import KnowledgeBase
from pretexeval.knowledge.medqa import QuestionBank
from pretexeval.primitives.hashing import hash_json
from pretexeval.storage.files import FileRef, count_rows
from pretexeval.storage.layout import edition_folder, stage_file
from pretexeval.storage.records import find_manifest, read_manifest_files
from prototypes.pool import Pool
from prototypes.question_wording import QuestionWording
from schemas.columns import Stage
from schemas.question_stages import QUESTIONS
from schemas.stages import ATTEMPTS, EDITION_STAGES, N_DEMONSTRATIONS, SAMPLES
from tasks.asking.writers import Writer, identify_writer
from tasks.drawing.pieces import Piece, TripletSampling, cut_relations
from tasks.drawing.relation_facts import RelationFacts, collect_facts
from tasks.drawing.series import SeriesTurn
from tasks.edition.anchors import share_pairs
from tasks.edition.rephraser import Llmeval, Rephraser
from tasks.judging.judge import plan_judge

# Increase these numbers if a change of the code gives other rows for the same configuration, so that editions
# get another name: the second one for other questions, the first one for anything else.
EDITION_FORMAT = 3
QUESTION_FORMAT = 3
MAX_CACHED_ROWS = 100_000
"""The most rows of a base whose facts are cached for all relations at a time; MedLAMA has 40,000."""
_LOCK = Lock()


@dataclass(frozen=True)
class Edition:
    """The plan of an edition: everything that its files depend on."""

    config: Config
    base: KnowledgeBase
    pool: Pool
    wording: QuestionWording | None = None
    """The wording of the questions; None if the edition has none, or takes them from a question bank."""

    @property
    def root(self) -> Path:
        """The data folder."""
        return self.config.storage.root

    @property
    def sampling(self) -> TripletSampling:
        """Return the settings with which the triplets are drawn."""
        table = self.config.edition
        turn = None
        if table.series is not None and table.number is not None:
            turn = SeriesTurn(table.series, table.number)
        return TripletSampling(table.seed, table.negatives, table.heads_per_relation, turn)

    def sample_relation(self, relation: str) -> TripletSampling:
        """Return how the triplets of a relation are drawn."""
        return replace(self.sampling, n_anchors=self.n_anchors.get(relation))

    @cached_property
    def n_anchors(self) -> dict[str, int]:
        """Relation -> number of its anchors; empty for an edition that is not one of anchors."""
        table = self.config.edition
        if self.config.n_anchor_pairs is None:
            return {}
        cap = table.heads_per_relation
        sizes = {r: max(min(n, cap or n) - N_DEMONSTRATIONS, 0) for r, n in self.n_heads.items()}
        return share_pairs(self.config.n_anchor_pairs, sizes)

    @cached_property
    def n_heads(self) -> dict[str, int]:
        """Relation -> number of its heads that can be tested."""
        tested = self.base.triplets.filter(~pl.col("also_true"))
        counted = dict(tested.group_by("relation").agg(pl.col("head").n_unique()).iter_rows())
        return {relation: counted.get(relation, 0) for relation in self.base.relations}

    @cached_property
    def pieces(self) -> dict[str, Piece]:
        """Name -> piece of the edition, in order. Every relation of a question bank is a single piece."""
        if not self.has_triplets:
            return {relation: Piece(relation) for relation in self.base.relations}
        cut = cut_relations(self.n_heads, self.sampling.heads_per_relation)
        return {piece.name: piece for piece in cut if piece.number == 1 or not self.has_anchors}

    @property
    def pieces_of(self) -> dict[str, list[Piece]]:
        """Relation -> its pieces, in order."""
        found: dict[str, list[Piece]] = {}
        for piece in self.pieces.values():
            found.setdefault(piece.relation, []).append(piece)
        return found

    def find_facts(self, relation: str) -> RelationFacts:
        """Return the facts of a relation, indexed.

        They are cached, those of a large base until `forget_facts` or until another relation is asked for.
        Threads of other pieces wait for them.
        """
        with _LOCK:
            if relation not in self._found_facts:
                self.forget_facts()
                self._found_facts[relation] = collect_facts(self.base, relation, self.config.edition.evidence)
            return self._found_facts[relation]

    def forget_facts(self) -> None:
        """Free the memory of the cached facts, unless the base is small."""
        if self.base.triplets.height > MAX_CACHED_ROWS:
            self._found_facts.clear()

    @cached_property
    def _found_facts(self) -> dict[str, RelationFacts]:
        return {}

    @property
    def has_anchors(self) -> bool:
        """Return whether this is the edition of anchors."""
        return self.config.n_anchor_pairs is not None

    @property
    def has_balance(self) -> bool:
        """Return whether the risks of its negatives are described. Anchors are too few to be balanced."""
        return self.has_triplets and not self.has_anchors

    @cached_property
    def rephraser(self) -> Rephraser | None:
        """The language model that rewords the statements; None if none does."""
        table = self.config.rephraser
        if table.writer is None:
            return None
        has_gate = table.gate == "on"
        return Rephraser(
            identify_writer(self.config.find_writer(table.writer)),
            table.instruction,
            table.temperature,
            table.max_tokens,
            table.max_attempts if has_gate else 1,
            self.config.edition.seed,
            table.max_new_words if isinstance(table.max_new_words, int) else None,
            plan_judge(self.config),
            self.base.aliases if has_gate else {},
            has_gate,
            is_limited_by_panel=table.has_panel,
        )

    @cached_property
    def llmeval(self) -> Llmeval | None:
        """The language model that writes the statements of method llmeval; None without this method."""
        table = self.config.llmeval
        if table.writer is None or "llmeval" not in self.config.edition.methods:
            return None
        writer = identify_writer(self.config.find_writer(table.writer))
        return Llmeval(writer, table.instruction)

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The stages of the edition, in order; attempts only if a language model rewords statements."""
        if not self.has_triplets:
            return (QUESTIONS,)
        absent = set() if self.rephraser else {ATTEMPTS.name}
        absent |= set() if self.has_questions else {QUESTIONS.name}
        return tuple(stage for stage in EDITION_STAGES if stage.name not in absent)

    @property
    def has_triplets(self) -> bool:
        """Return whether the edition is made from triplets, so that it has samples."""
        return not isinstance(self.base, QuestionBank)

    @property
    def has_questions(self) -> bool:
        """Return whether a setting is configured in which models are asked questions."""
        return bool(self.config.questions.settings)

    @property
    def as_written(self) -> list[str]:
        """The relations that differ from the bundled pool, so that nobody has reviewed their wordings."""
        worded = self.base.relations if self.has_triplets else []
        return [relation for relation in worded if not self.pool.is_reviewed(relation)]

    @property
    def writers(self) -> dict[str, Writer]:
        """Role (`Rephraser.writers`, `llmeval`) -> the language model that is asked in it."""
        llmeval = {} if self.llmeval is None else {"llmeval": self.llmeval.writer}
        return llmeval if self.rephraser is None else self.rephraser.writers | llmeval

    @property
    def rephraser_name(self) -> str:
        """The rephraser as tables name it: `none`, `reviewed`, or a model id."""
        return self.config.rephraser.kind if self.rephraser is None else self.rephraser.writer.model_id

    @cached_property
    def configuration(self) -> dict[str, Any]:
        """Everything that determines the edition, as JSON. It is the same on every machine."""
        table = self.config.edition
        relations = self.base.relations
        questions = {"questions": self.describe_questions()} if self.has_questions else {}
        if not self.has_triplets:
            names = {"format": EDITION_FORMAT, "kb": self.base.name, "seed": table.seed}
            return {**names, **questions, "knowledge": {r: self.base.checksum_relation(r) for r in relations}}
        has_origin = "origin" in table.methods
        origin = {"origin": {r: self.pool.relations[r].origin for r in relations}} if has_origin else {}
        llmeval = {} if self.llmeval is None else {"llmeval": self.llmeval.describe()}
        as_written = {"as_written": self.as_written} if self.as_written else {}
        return {
            "format": EDITION_FORMAT,
            "kb": self.base.name,
            "seed": table.seed,
            "negatives": table.negatives,
            "evidence": list(table.evidence),
            **({"hierarchy": found} if (found := self.base.checksum_hierarchy()) else {}),
            **({"shapes": self.base.shapes} if self.base.shapes else {}),
            "heads_per_relation": table.heads_per_relation,
            **self.describe_series(),
            **self.describe_releases(),
            **({"anchor_pairs": self.config.n_anchor_pairs} if self.has_anchors else {}),
            "methods": list(table.methods),
            "pool": self.pool.name,
            "rephraser": self.describe_rephraser(),
            **llmeval,
            **origin,
            **questions,
            **as_written,
            "knowledge": {r: self.base.checksum_relation(r) for r in relations},
            "prototypes": {r: self.pool.checksum_relation(r) for r in relations},
        }

    def describe_series(self) -> dict[str, Any]:
        """Return, as JSON, the place of the edition in its series; empty for an edition by itself."""
        turn = self.sampling.turn
        return {} if turn is None else {"series": asdict(turn)}

    def describe_releases(self) -> dict[str, Any]:
        """Return, as JSON, the releases that give facts their ages, and the ages; empty without releases."""
        if not self.base.releases:
            return {}
        ages = {relation: self.base.checksum_ages(relation) for relation in self.base.relations}
        return {"releases": {"names": list(self.base.releases), "ages": ages}}

    def describe_questions(self) -> dict[str, Any]:
        """Return, as JSON, the wording of the questions of each relation."""
        if self.wording is None:
            return {"format": QUESTION_FORMAT}
        wordings = {r: self.wording.select_relation(r).checksum for r in self.base.relations}
        return {"format": QUESTION_FORMAT, "wording": wordings}

    def describe_rephraser(self) -> dict[str, Any]:
        """Return, as JSON, the rephraser, how it is asked, and which gate checks its rewordings."""
        if self.rephraser is None:
            return {"kind": self.rephraser_name}
        gate = GATE_VERSION if self.rephraser.has_gate else "off"
        return self.rephraser.describe() | {"gate": gate}

    @cached_property
    def edition_id(self) -> str:
        """The edition's name: `<kb>-<label>-<hash8>`."""
        return f"{self.base.name}-{self.config.edition.name}-{hash_json(self.configuration, digits=8)}"

    @property
    def folder(self) -> str:
        """The edition's folder, relative to the root."""
        return edition_folder(self.edition_id)

    def path_of(self, stage: str, piece: str) -> str:
        """Return the path of a stage's file of a piece, relative to the root."""
        return stage_file(self.edition_id, stage, piece)

    def read_files(self) -> dict[str, FileRef]:
        """Return path -> file as the manifest lists them; empty until the edition is complete."""
        return read_manifest_files(self.root, self.edition_id)

    def is_complete(self) -> bool:
        """Return whether there is a usable manifest; files may be missing or damaged."""
        return find_manifest(self.root, self.edition_id) is not None

    def is_whole(self) -> bool:
        """Return whether the edition is complete and all its files are intact and listed as they are."""
        files = self.read_files()
        paths = {self.path_of(stage.name, r) for stage in self.stages for r in self.pieces}
        return (
            self._is_intact(files.values())
            and paths.issuperset(files)
            and all(count_rows(self.root, ref) == ref for ref in files.values())
        )

    def has_model_texts(self) -> bool:
        """Return whether the edition is complete and all files with texts of language models are intact."""
        stages = {ATTEMPTS.name, SAMPLES.name}
        files = [ref for path, ref in self.read_files().items() if stages & set(path.split("/"))]
        return self._is_intact(files)

    def _is_intact(self, files: Collection[FileRef]) -> bool:
        return bool(files) and all(ref.is_intact(self.root) for ref in files)
