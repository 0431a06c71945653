"""What the files of an export say of their edition."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from config.schedule import find_first_day
from exports.tables import QUESTION_TABLE, SAMPLE_TABLE, ExportedTable

UNKNOWN_LICENCE = (
    "Unknown: this edition records no licence of its knowledge base. Whether it may be passed on depends on "
    "the licence of that base."
)
METHODS = {
    "samples": "PretexEval (Zhou et al., Reliable and diverse evaluation of LLM medical knowledge mastery, "
    "ICLR 2025)",
    "questions": "MultifacetEval (Zhou et al., IJCAI 2024)",
}


@dataclass(frozen=True)
class ExportedEdition:
    """An edition and how much of it is exported."""

    manifest: Mapping[str, Any]
    n_samples: Mapping[str, int]
    """Method -> number of tested samples."""
    n_questions: int
    """Number of tested questions in the files."""
    licence: str
    option: str
    """The option that chose the pairs, with a space before it; empty if all are tested."""

    @property
    def edition_id(self) -> str:
        """The name of the edition."""
        return str(self.manifest["edition_id"])

    @property
    def tables(self) -> list[ExportedTable]:
        """The tables that the edition fills."""
        samples = [SAMPLE_TABLE] if self.n_samples else []
        return samples + ([QUESTION_TABLE] if self.n_questions else [])

    @property
    def published(self) -> date | None:
        """The first day of the period that a scheduled edition is named after; null for other editions.

        An edition has no other date, because it is the same whenever and wherever it is built.
        """
        return find_first_day(str(self.manifest.get("label")))

    def describe(self) -> str:
        """Return one paragraph about the edition."""
        counts = [f"{n:,} samples by the method {method}" for method, n in self.n_samples.items()]
        counts += [f"{self.n_questions:,} questions"] if self.n_questions else []
        return (
            f"The edition {self.edition_id} of a test of knowledge. Samples are statements that are true or "
            "false relative to a knowledge base, each triplet in several logically transformed wordings "
            "(PretexEval); questions are of four types (MultifacetEval). "
            f"Tested: {', '.join(counts)}. Knowledge base: {self.manifest.get('kb')}; "
            f"seed: {self.manifest.get('seed')}; negatives: {self.manifest.get('negatives')}; "
            f"rephraser: {self.manifest.get('rephraser')}{self._describe_gate()}."
        )

    def _describe_gate(self) -> str:
        """Return what to add to the rephraser if nothing checked its rewordings."""
        rephraser = self.manifest.get("configuration", {}).get("rephraser", {})
        return ", whose rewordings nobody checked" if rephraser.get("gate") == "off" else ""

    def cite(self) -> str:
        """Return a citation in the format of BibTeX: the edition, and the methods that made it."""
        methods = " and ".join(METHODS[table.name] for table in self.tables)
        year = f"  year = {{{self.published.year}}},\n" if self.published else ""
        return (
            f"@misc{{{self.edition_id},\n"
            f"  title = {{Edition {self.edition_id} of a test of knowledge}},\n"
            f"{year}"
            f"  note = {{Made by pretexeval from the knowledge base {self.manifest.get('kb')}, "
            f"by the method of {methods}}},\n"
            "}"
        )
