"""Plan the edition that a configuration describes, from the knowledge base, the pool and the wordings."""

from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import polars as pl

from pretexeval.config.file import Config
from pretexeval.knowledge.base import LeftOut
from pretexeval.knowledge.medqa import QuestionBank
from pretexeval.knowledge.reader import read_knowledge_base
from pretexeval.knowledge.untested import leave_untested
from pretexeval.primitives.errors import InputError, join_problems
from pretexeval.storage.store import Store
from prototypes.pool import check_pool, load_pool
from prototypes.question_wording import BUNDLED, check_question_wording, load_question_wording
from tasks.drawing.shapes import find_shapes
from tasks.edition.edition import Edition
from tasks.edition.triplets import draw_triplets

# To draw a relation with so many heads takes a fraction of a second. With more heads, some pair can be drawn.
MAX_HEADS = 200
MAX_SHARE = 0.2
"""In relations of possibility, a tail that a larger share of the heads has is not asked."""


def plan_edition(config: Config) -> Edition:
    """Return the edition that a configuration describes, without writing anything.

    The last plan is cached while the files that the configuration names are unchanged, so that the flows of
    one command read the knowledge base once.

    Raises:
        InputError: the knowledge base or the pool cannot be used, or the pool lacks a relation.
    """
    return _plan_edition(config, _list_stamps(config))


def fetch_edition(config: Config, store: Store) -> Edition:
    """Return the planned edition, after the store has fetched what the shared storage has of it.

    Raises:
        InputError: as `plan_edition`; or the edition is complete on both sides, with different content.
    """
    edition = plan_edition(config)
    store.pull_edition(edition.edition_id)
    return edition


@lru_cache(maxsize=1)
def _plan_edition(config: Config, _: tuple[object, ...]) -> Edition:
    base = read_knowledge_base(config.knowledge, config.questions.synonyms)
    pool = load_pool(config.edition.pool)
    if isinstance(base, QuestionBank):
        return Edition(config, base, pool)
    problems = check_pool(pool, base.relations)
    wording = None
    if config.questions.settings:
        path = config.questions.wording
        wording = load_question_wording(None if path == BUNDLED else Path(path))
        problems += check_question_wording(wording, base.relations)
    if problems:
        raise InputError(join_problems(problems))
    table = config.edition
    possible = [name for name in base.relations if pool.relations[name].is_possibility]
    is_guessed = "hierarchy" in table.evidence
    base = replace(base, shapes=find_shapes(base, config.knowledge.shape, possible, is_guessed=is_guessed))
    general = possible if "generality" in table.evidence else []
    base = leave_untested(base, general, MAX_SHARE)
    return _leave_out_small_relations(Edition(config, base, pool, wording))


def _list_stamps(config: Config) -> tuple[object, ...]:
    """Return the size and modification time of every file that the configuration names, as a cache key."""
    questions = config.questions
    named = (
        *(value for value in vars(config.knowledge).values() if isinstance(value, Path)),
        *(release.path for release in config.knowledge.releases),
        config.edition.pool,
        questions.synonyms,
        questions.wording,
        *(writer.model for writer in config.writers),
    )
    files = [file for source in named if source is not None for file in _list_files(Path(source))]
    stamps = ((str(file), status.st_size, status.st_mtime_ns) for file in files if (status := file.stat()))
    # Relative paths depend on the working directory.
    return Path.cwd(), *stamps


def _list_files(source: Path) -> list[Path]:
    """Return the file, or the files directly in the folder; nothing if neither exists."""
    if source.is_dir():
        return sorted(path for path in source.iterdir() if path.is_file())
    return [source] if source.is_file() else []


def _leave_out_small_relations(edition: Edition) -> Edition:
    """Return the edition without the relations whose new facts do not suffice for a pair, which are listed.

    An edition without an older release stays as it is: such a relation is then an error of the base.

    Raises:
        InputError: no relation is left.
    """
    base = edition.base
    if base.n_known is None:
        return edition
    small = {relation: n for relation, n in edition.n_heads.items() if not _has_pair(edition, relation, n)}
    if len(small) == len(base.relations):
        raise InputError(
            f"no relation of {base.name!r} has enough facts that the older release lacks ("
            + ", ".join(f"{relation}: {n} heads" for relation, n in small.items())
            + '): set test = "new" in an earlier one of releases in [knowledge]'
        )
    reason = "too few heads have a fact that the older release lacks"
    left_out = [LeftOut(relation, "the relation", f"{reason} ({n})") for relation, n in small.items()]
    is_kept = ~pl.col("relation").is_in(list(small))
    kept = replace(
        base,
        triplets=base.triplets.filter(is_kept),
        also_false=base.also_false.filter(is_kept),
        left_out=(*base.left_out, *left_out),
    )
    return replace(edition, base=kept)


def _has_pair(edition: Edition, relation: str, n_heads: int) -> bool:
    if n_heads > MAX_HEADS:
        return True
    try:
        draw_triplets(edition.base, relation, edition.sampling)
    except InputError:
        return False
    return True
