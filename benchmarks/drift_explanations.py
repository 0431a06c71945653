"""Measure how often the view drift_explanations is right about simulated models.

`python -m benchmarks.drift_explanations` prints the table of docs/anchors.md. Each simulated model is asked
100 anchors in three weeks, and the fresh editions of the last two of them. What happens between these two
weeks is the case. The tables are filled with answers, and the SQL of the warehouse computes the rest.
"""

from dataclasses import dataclass

import duckdb
import numpy as np
import polars as pl
from numpy.typing import NDArray

from report.console import align
from schemas.transformations import TRANSFORMATIONS
from warehouse.catalogue import create_tables, create_views, read_query

Bits = NDArray[np.bool_]

WEEKS = ("2026-W45", "2026-W46", "2026-W47")
ANCHORS = "base-anchors-0"
N_WEEKS = 200
N_ANCHORS = 100
N_FRESH = 400
N_TAILS = 60
N_SAMPLES = 16
"""Of a pair: eight variants of its true triplet and of its false one."""
NOISE = 0.005
"""Share of the answers that flip although nothing changed, as on a batched GPU engine."""
EXPLANATIONS = ("model changed", "texts had leaked", "both", "neither is supported")


@dataclass(frozen=True)
class Case:
    """What happens between the last two weeks."""

    name: str
    change: float = 0.0
    """The share of its right answers that the served model loses, on all texts."""
    leak: float = 0.0
    """The share of its wrong answers that the model has put right by learning the texts of anchors and of the
    editions before the last week."""


CASES = (
    Case("nothing"),
    Case("changed, 3 points", change=0.04),
    Case("changed, 5 points", change=0.0667),
    Case("leaked, 3 points", leak=0.12),
    Case("leaked, 5 points", leak=0.2),
    Case("both, 5 points each", change=0.0667, leak=0.2),
)
"""Without a leak, the models are right about 75 % of the samples."""


def simulate(cases: tuple[Case, ...], n_weeks: int = N_WEEKS, seed: int = 1) -> pl.DataFrame:
    """Return one row per simulated model, in the last two weeks: the columns of the view, and its case."""
    rng = np.random.default_rng(seed)
    with duckdb.connect() as connection:
        create_tables(connection)
        create_views(connection)
        _insert_editions(connection)
        # One case after the other, because the answers of all of them take gigabytes of memory.
        rows = [_simulate_case(connection, case, n_weeks, rng) for case in cases]
    return pl.concat(rows)


def _simulate_case(
    connection: duckdb.DuckDBPyConnection, case: Case, n_weeks: int, rng: np.random.Generator
) -> pl.DataFrame:
    for table in ("models", "anchor_runs", "anchor_predictions", "pair_scores"):
        connection.execute(f"delete from {table}")
    models = [[f"{case.name} {week:03}"] for week in range(n_weeks)]
    connection.executemany("insert into models (model_id, name) values ($1, $1)", models)
    _insert_case(connection, case, n_weeks, rng)
    found = connection.execute(
        "select * from drift_explanations where period = ? and other_period = ? order by model_id", WEEKS[1:]
    )
    names = [column[0] for column in found.description]
    rows = pl.DataFrame(found.fetchall(), schema=names, orient="row", infer_schema_length=None)
    return rows.with_columns(pl.lit(case.name).alias("case"))


def _insert_editions(connection: duckdb.DuckDBPyConnection) -> None:
    """Insert the anchors with their samples, and the triplets of the fresh editions about the same heads."""
    heads = {ANCHORS: N_ANCHORS, f"base-{WEEKS[1]}": N_FRESH, f"base-{WEEKS[2]}": N_FRESH}
    for edition_id, n_pairs in heads.items():
        label = edition_id.removeprefix("base-")
        connection.execute(
            "insert into editions (edition_id, kb, label, negatives, pool, rephraser, methods, is_anchors) "
            "values (?, 'base', ?, 'balanced', 'revised', 'reviewed', ['pretexeval'], ?)",
            [edition_id, label, edition_id == ANCHORS],
        )
        connection.execute(
            "insert into triplets by name "
            "select $edition as edition_id, format('{}-{}', pair, t) as triplet_id, "
            "pair::varchar as pair_id, 'r' as relation, format('head {}', pair) as head, "
            "format('tail {}', (pair * 7 + t * 3) % $n_tails) as tail, t = 0 as is_positive, 'test' as split "
            "from range($n) as pairs(pair), range(2) as kinds(t)",
            {"edition": edition_id, "n": n_pairs, "n_tails": N_TAILS},
        )
    names = ", ".join(f"'{t.name}'" for t in TRANSFORMATIONS)
    connection.execute(
        "insert into samples by name select edition_id, format('{}-{}', triplet_id, k) as sample_id, "
        "'pretexeval' as method, triplet_id, pair_id, relation, split, "
        f"[{names}][k + 1] as transformation, k as sample_index, 'text' as text, true as label, "
        "'reviewed' as rephraser, 'reviewed' as status, 1 as attempts, []::varchar[] as reasons "
        "from triplets, range(8) as variants(k) where edition_id = $edition",
        {"edition": ANCHORS},
    )
    connection.execute(f"insert into pair_clusters {read_query('pair_clusters')}")


def _insert_case(
    connection: duckdb.DuckDBPyConnection, case: Case, n_weeks: int, rng: np.random.Generator
) -> None:
    heads = rng.logistic(size=(n_weeks, N_FRESH, 1))
    anchors = _answer(heads[:, :N_ANCHORS], rng)
    learnt = anchors | (rng.random(anchors.shape) < case.leak)
    changed = learnt & (rng.random(anchors.shape) >= case.change)
    for week, right in zip(WEEKS, (learnt, learnt, changed), strict=True):
        noisy = right ^ (rng.random(right.shape) < NOISE)
        _insert_anchors(connection, case.name, week, noisy)
    before, after = _answer(heads, rng), _answer(heads, rng)
    before |= rng.random(before.shape) < case.leak
    after &= rng.random(after.shape) >= case.change
    for week, right in zip(WEEKS[1:], (before, after), strict=True):
        _insert_fresh(connection, case.name, week, right)


def _answer(heads: NDArray[np.float64], rng: np.random.Generator) -> Bits:
    """Return model × pair × sample: whether the answer to a new text is right. Texts share their head."""
    texts = rng.logistic(size=(*heads.shape[:2], N_SAMPLES))
    right: Bits = 1.62 + heads + texts > 0
    return right


def _pack(right: Bits, name: str) -> pl.DataFrame:
    """Return one row per model and pair, with a bit set of its right samples."""
    n_weeks, n_pairs, _ = right.shape
    bits = (right.astype(np.int64) << np.arange(N_SAMPLES)).sum(axis=2)
    return pl.DataFrame(
        {
            "model_id": np.repeat([f"{name} {week:03}" for week in range(n_weeks)], n_pairs),
            "pair_id": np.tile([str(pair) for pair in range(n_pairs)], n_weeks),
            "correct_bits": bits.ravel().astype(np.uint16),
        }
    )


def _insert_anchors(connection: duckdb.DuckDBPyConnection, name: str, period: str, right: Bits) -> None:
    given = _pack(right, name)
    connection.register("given", given.to_arrow())
    values = {"edition": ANCHORS, "period": period}
    connection.execute(
        "insert into anchor_runs by name "
        "select distinct $edition as edition_id, $period as period, model_id, 1600 as n_samples, "
        "0 as n_errors, 0.01 as max_error_rate, '{\"temperature\": 0.0}'::json as sampling "
        "from given order by model_id",
        values,
    )
    connection.execute(
        "insert into anchor_predictions by name select edition_id, $period as period, model_id, sample_id, "
        "0 as repeat, 'strict' as scoring_policy, 'key' as prompt_key, "
        "(correct_bits >> (sample_index + if(triplets.is_positive, 0, 8))) & 1 = 1 as is_correct, "
        "is_correct as prediction from given inner join samples using (pair_id) "
        "inner join triplets using (edition_id, triplet_id) where edition_id = $edition",
        values,
    )
    connection.unregister("given")


def _insert_fresh(connection: duckdb.DuckDBPyConnection, name: str, period: str, right: Bits) -> None:
    given = _pack(right, name)
    connection.register("given", given.to_arrow())
    connection.execute(
        "insert into pair_scores by name select "
        "(select coalesce(max(run), 0) from pair_scores) + dense_rank() over (order by model_id) as run, "
        "edition_id, model_id, model_id as model, 'pretexeval' as method, 'strict' as scoring_policy, "
        "0 as repeat, 'r' as relation, pair_id, 8 as k, "
        "head_cluster, positive_tail_cluster, negative_tail_cluster, 16 as n_asked, 0 as n_errors, "
        "16 as n_graded, 0 as n_no_answer, true as is_complete, correct_bits = 65535 as is_mastered, "
        "65535::usmallint as asked_bits, 0::usmallint as failed_bits, 65535::usmallint as graded_bits, "
        "correct_bits, 0::usmallint as unanswered_bits, correct_bits as answered_true_bits, "
        "0::usmallint as unfinished_bits "
        "from given inner join pair_clusters using (pair_id) where edition_id = $edition",
        {"edition": f"base-{period}"},
    )
    connection.unregister("given")


def count_explanations(rows: pl.DataFrame) -> pl.DataFrame:
    """Return one row per case: the share of its models with each explanation, and mean figures."""
    shares = [(pl.col("explanation") == name).mean().alias(name) for name in EXPLANATIONS]
    means = [pl.col(name).mean() for name in ("fresh_fall", "anchor_fall", "change_rate")]
    return rows.group_by("case", maintain_order=True).agg(*shares, *means)


def main() -> None:
    """Print how often each explanation is given in each case."""
    counted = count_explanations(simulate(CASES))
    cells = [[str(row[0]), *(f"{100 * value:.1f}" for value in row[1:])] for row in counted.iter_rows()]
    print(align(counted.columns, cells))


if __name__ == "__main__":
    main()
