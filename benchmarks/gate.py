"""The gate on rewordings that were read and labelled, and its speed."""

import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

from benchmarks.measuring import REFERENCE, build_parser, find_reference
from pretexeval.gate import check as gate_check
from pretexeval.gate import check_rewordings, features, names, relations
from prototypes.pool import load_pool
from prototypes.templates import fill_slots
from tasks.judging.measurement import read_labelled

TABLES = Path(__file__).parent
NEW_RELATIONS = TABLES.parent / "tests/pretexeval/gate/new_relations.tsv"
SHARES = (0.5, 0.67, 0.75, 0.8, 0.9, 1.0)
N_PARTS = 3
# Texts of MedLAMA: 17,000 (relation, head) pairs, a true and a false tail, eight transformations.
N_HEADS = 1000


def check_gate(arguments: Sequence[str]) -> None:
    """Print how the gate judges rewordings that were read and labelled.

    `labelled_rewordings.tsv` has those of 14 relations outside the pool by a strong language model,
    `rephrasings_labelled.parquet` of the reference data those of nine relations, and `new_relations.tsv` has
    texts of ten kinds of error, written before the rules. `weak_writer_rewordings.tsv` has those of a weak
    model. `error` is null where a rewording is sound. A relation is in one third only: for each third, the
    least share of a name's words is calibrated on the two others. With --speed, the reviewed wordings with
    all names of MedLAMA are checked as well.
    """
    parser = build_parser("gate", check_gate.__doc__)
    parser.add_argument("--speed", action="store_true", help="measure the time of 272,000 texts")
    options = parser.parse_args(arguments)
    labelled = {"14 relations": _read("labelled_rewordings.tsv")}
    if os.environ.get(REFERENCE):
        labelled["9 relations"] = read_labelled(find_reference() / "rephrasings_labelled.parquet")
    for name, rows in labelled.items():
        _print_counts(name, rows)
    columns = ["relation", "statement", "text", "head", "tail", "error"]
    _print_thirds(pl.concat(rows.select(columns) for rows in labelled.values()))
    new = _read(str(NEW_RELATIONS)).with_columns(
        pl.col("head_aliases", "tail_aliases").str.split("|"),
        error=pl.when(pl.col("meaning") == "other").then("kind"),
    )
    _print_counts("new relations", new)
    for (sample,), part in _read("weak_writer_rewordings.tsv").group_by("sample", maintain_order=True):
        for limit in (None, 1, 0):
            accepted = part.filter(pl.Series([not reasons for reasons in check_rewordings(part, limit)]))
            n_flips = accepted["error"].str.starts_with("polarity_flip").sum()
            print(
                f"weak writer, drawn with max_new_words {sample}: {len(accepted)} of {len(part)} accepted "
                f"with {limit}, {accepted['error'].count()} wrong, {n_flips} of them a flip of polarity"
            )
    if options.speed:
        _print_speed()


def _read(name: str) -> pl.DataFrame:
    return pl.read_csv(TABLES / name, separator="\t", quote_char=None, infer_schema=False)


def _judge(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows with is_rejected, and kind: that of the error, or sound."""
    kind = pl.col("error").str.split(":").list.first().fill_null("sound")
    return rows.with_columns(kind=kind, is_rejected=pl.Series(map(bool, check_rewordings(rows))))


def _print_counts(name: str, rows: pl.DataFrame) -> None:
    verdicts = _judge(rows)
    print(f"{name}: {_count(verdicts)}")
    for (kind,), part in verdicts.filter(pl.col("kind") != "sound").group_by("kind", maintain_order=True):
        print(f"  {kind}: {part['is_rejected'].sum()} of {len(part)} caught")


def _count(verdicts: pl.DataFrame) -> str:
    """Return the counts of wrong texts that were caught, and of sound ones that were rejected."""
    wrong, sound = (verdicts.filter((pl.col("kind") == "sound") == is_sound) for is_sound in (False, True))
    caught, rejected = wrong["is_rejected"].sum(), sound["is_rejected"].sum()
    return (
        f"{caught} of {len(wrong)} wrong ones caught ({caught / len(wrong):.1%}), "
        f"{rejected} of {len(sound)} sound ones rejected ({rejected / len(sound):.1%})"
    )


def _print_thirds(rows: pl.DataFrame) -> None:
    """Print the counts of each third of the relations, with the share that is best on the two others.

    The best one catches most, and then rejects least: a wrong text costs more than a rejected one.
    """
    all_relations = rows["relation"].unique(maintain_order=True).to_list()
    verdicts = {share: _judge_with(rows, share) for share in SHARES}
    for part in range(N_PARTS):
        is_in = pl.col("relation").is_in(all_relations[part::N_PARTS])
        share = max(SHARES, key=lambda share: (*_score(verdicts[share].filter(~is_in)), share))
        print(f"third {part + 1} of the relations, share {share}: {_count(verdicts[share].filter(is_in))}")


def _judge_with(rows: pl.DataFrame, share: float) -> pl.DataFrame:
    """Return the verdicts with another least share of a name's words."""
    usual, names.MIN_SHARE = names.MIN_SHARE, share
    try:
        return _judge(rows)
    finally:
        names.MIN_SHARE = usual


def _score(verdicts: pl.DataFrame) -> tuple[float, float]:
    """Return the share of wrong texts that were caught, and of sound ones that were accepted."""
    wrong, sound = (verdicts.filter((pl.col("kind") == "sound") == is_sound) for is_sound in (False, True))
    return int(wrong["is_rejected"].sum()) / len(wrong), 1 - int(sound["is_rejected"].sum()) / len(sound)


def _print_speed() -> None:
    """Print the time that the gate takes for a wording of each statement of MedLAMA, in one process."""
    rows = pl.DataFrame(list(_list_wordings()), schema=["statement", "text", "head", "tail"], orient="row")
    for cached in (
        names.parse_name,
        gate_check._compare_sentences,
        features.extract_features,
        relations.find_cue,
    ):
        cached.cache_clear()
    start = time.process_time()
    check_rewordings(rows)
    print(f"{len(rows):,} texts: {time.process_time() - start:.1f} s of one core")


def _list_wordings() -> Iterator[tuple[str, str, str, str]]:
    """Yield (statement, one of its reviewed wordings, head, tail), with two tails for each head."""
    facts = pl.read_parquet(find_reference() / "medlama.parquet")
    for relation, prototypes in load_pool("revised").relations.items():
        own = facts.filter(pl.col("relation") == relation).head(N_HEADS)
        tails = own["tail_names"].explode().unique().sort().to_list()
        for at, (head, true) in enumerate(zip(own["head_name"], own["tail_names"], strict=True)):
            for tail in (true[0], tails[at % len(tails)]):
                for number, cell in enumerate(prototypes.cells.values()):
                    text = cell.texts[(at + number) % len(cell.texts)]
                    yield fill_slots(cell.prototype, head, tail), fill_slots(text, head, tail), head, tail
