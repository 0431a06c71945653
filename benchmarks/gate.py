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
from tasks.judging.writer_errors import CALIBRATION, LIMITS, name_passed

TABLES = Path(__file__).parent
NEW_RELATIONS = TABLES.parent / "tests/pretexeval/gate/new_relations.tsv"
UNLISTED = NEW_RELATIONS.with_name("unlisted_relations.tsv")
# Texts of MedLAMA: 17,000 (relation, head) pairs, a true and a false tail, eight transformations.
N_HEADS = 1000


def check_gate(arguments: Sequence[str]) -> None:
    """Print how the gate judges rewordings that were read and labelled.

    `labelled_rewordings.tsv` has those of 14 relations outside the pool by a strong language model,
    `rephrasings_labelled.parquet` of the reference data those of nine relations. `new_relations.tsv` has
    texts of ten kinds of error, written before the rules, and `unlisted_relations.tsv` has more of them.
    `error` is null where a rewording is sound. With --speed, the reviewed wordings with all names of MedLAMA
    are checked as well.

    `weak_writer_rewordings.tsv` has those of a weak one (SmolLM2-135M-Instruct): its sample `attempts` has
    whatever it wrote about eight relations that is no copy of its statement, `other relations` has 80 of the
    295 texts that the gate accepted of 1,643 about 13 more, and `none` and `0` have what it accepted of four
    relations without a limit on new words and with 0. With --calibrate, the counts on which the estimate of
    wrong texts depends (docs/rephrasing.md) are written, after a change of the gate or of these texts.
    """
    parser = build_parser("gate", check_gate.__doc__)
    parser.add_argument("--speed", action="store_true", help="measure the time of 272,000 texts")
    parser.add_argument("--calibrate", action="store_true", help="write the counts that the estimate uses")
    options = parser.parse_args(arguments)
    labelled = {"14 relations": read_rewordings("labelled_rewordings.tsv")}
    if os.environ.get(REFERENCE):
        labelled["9 relations"] = read_labelled(find_reference() / "rephrasings_labelled.parquet")
    for name, rows in labelled.items():
        _print_counts(name, rows)
    new = read_rewordings(str(NEW_RELATIONS)).with_columns(
        pl.col("head_aliases", "tail_aliases").str.split("|"),
        error=pl.when(pl.col("meaning") == "other").then("kind"),
    )
    _print_counts("new relations", new)
    unlisted = read_rewordings(str(UNLISTED))
    error = pl.when(pl.col("meaning") == "other").then("kind")
    for (part,), rows in unlisted.with_columns(error=error).group_by("part", maintain_order=True):
        print(f"unlisted relations, {part}: {_count(_judge(rows))}")
    for (sample,), part in read_rewordings("weak_writer_rewordings.tsv").group_by(
        "sample", maintain_order=True
    ):
        for limit in LIMITS:
            accepted = part.filter(pl.Series([not reasons for reasons in check_rewordings(part, limit)]))
            n_flips = accepted["error"].str.starts_with("polarity_flip").sum()
            print(
                f"weak writer, sample {sample}: {len(accepted)} of {len(part)} accepted "
                f"with {limit}, {accepted['error'].count()} wrong, {n_flips} of them a flip of polarity"
            )
    _print_calibration(is_written=options.calibrate)
    if options.speed:
        _print_speed()


def count_calibration() -> pl.DataFrame:
    """Return the counts of labelled rewordings by source and relation, as `gate_calibration.tsv` has them.

    Of the sample `none`, which the gate had accepted, only the wrong texts are counted that pass under each
    limit. The sample `other relations` is left for a check.
    """
    strong = read_rewordings("labelled_rewordings.tsv").with_columns(
        source=pl.lit("strong writer"), sample=pl.lit("attempts")
    )
    weak = read_rewordings("weak_writer_rewordings.tsv").filter(pl.col("sample").is_in(["none", "attempts"]))
    columns = ("source", "sample", "relation", "statement", "text", "head", "tail", "error")
    rows = pl.concat(
        [strong.select(columns), weak.with_columns(source=pl.lit("weak writer")).select(columns)]
    )
    accepted = {limit: pl.Series([not each for each in check_rewordings(rows, limit)]) for limit in LIMITS}
    wrong, is_drawn, passes = (
        pl.col("error").is_not_null(),
        pl.col("sample") == "attempts",
        pl.col(name_passed(None)),
    )
    counts = {
        "n_sound": is_drawn & ~wrong,
        "n_rejected": is_drawn & ~wrong & ~passes,
        "n_wrong": is_drawn & wrong,
        "n_caught": is_drawn & wrong & ~passes,
        **{name_passed(limit): wrong & pl.col(name_passed(limit)) for limit in LIMITS},
    }
    return (
        rows.with_columns(passed.alias(name_passed(limit)) for limit, passed in accepted.items())
        .group_by("source", "relation", maintain_order=True)
        .agg(counted.sum().alias(name) for name, counted in counts.items())
    )


def _print_calibration(*, is_written: bool) -> None:
    """Print the shares f and c of the estimate of a writer's wrong texts, and write its counts if asked."""
    counts = count_calibration()
    totals = counts.group_by("source", maintain_order=True).agg(pl.exclude("relation").sum())
    totals = totals.with_columns(
        f=pl.col("n_rejected") / pl.col("n_sound"), c=pl.col("n_caught") / pl.col("n_wrong")
    )
    for row in totals.iter_rows(named=True):
        print(", ".join(f"{name} {value}" for name, value in row.items()))
    if is_written:
        counts.write_csv(CALIBRATION, separator="\t", quote_style="never")
        print(f"wrote {CALIBRATION}")


def read_labelled(path: Path) -> pl.DataFrame:
    """Return the labelled rephrasings of the reference data; the tail is the one in the statement."""
    tail = pl.when(pl.col("polarity") == "positive").then("tail").otherwise("negative_tail")
    return pl.read_parquet(path).select(
        "relation", "error", "head", tail=tail, statement="prototype", text="rephrased"
    )


def read_rewordings(name: str) -> pl.DataFrame:
    """Return a table of labelled rewordings; `error` is null where one is sound."""
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
    # One wording of each cell is its prototype.
    n_rejected = sum(not {"unchanged"}.issuperset(reasons) for reasons in check_rewordings(rows))
    seconds = time.process_time() - start
    print(f"{len(rows):,} texts: {seconds:.1f} s of one core, {n_rejected / len(rows):.1%} rejected")


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
