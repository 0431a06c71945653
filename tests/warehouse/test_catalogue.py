import importlib
import random
import re
from collections.abc import Iterator

import duckdb
import pytest
from scipy.stats import binom, binomtest, t

from tests.support.expected_views import expected_difference, expected_interval
from warehouse.catalogue import FOLDER, VIEWS, create_tables


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        create_tables(connection)
        yield connection


def test_every_view_is_listed_and_starts_with_its_grain() -> None:
    files = {path.stem: path.read_text() for path in (FOLDER / "views").glob("*.sql")}
    assert sorted(VIEWS) == sorted(files)
    for name, text in files.items():
        assert text.startswith("-- Grain: one row per "), name
        assert f"create or replace view {name} as\n" in text
        assert not re.search(r"group by \d", text), name
        assert not re.search(r"^select \*", text, re.MULTILINE), name


def draw_clusters(seed: int) -> list[tuple[int, int]]:
    """Draw up to 30 clusters of up to 16 samples; in every fourth draw each is all right or all wrong."""
    draw = random.Random(seed)
    sizes = [draw.randint(1, 16) for _ in range(draw.randint(1, 30))]
    if seed % 4 == 0:
        return [(draw.choice([0, size]) if seed % 8 else size, size) for size in sizes]
    return [(draw.randint(0, size), size) for size in sizes]


def test_clustered_interval(connection: duckdb.DuckDBPyConnection) -> None:
    draws = [draw_clusters(seed) for seed in range(200)]
    values = ", ".join(f"({g}, {c}, {n})" for g, clusters in enumerate(draws) for c, n in clusters)
    intervals = connection.execute(
        "select cluster_low(c, n), cluster_high(c, n) "
        f"from (values {values}) as t (g, c, n) group by g order by g"
    ).fetchall()
    for clusters, interval in zip(draws, intervals, strict=True):
        assert interval == pytest.approx(expected_interval(clusters), abs=1e-7), clusters


@pytest.mark.parametrize(("k", "n"), [(0, 1), (0, 40), (7, 40), (40, 40)])
def test_wilson(connection: duckdb.DuckDBPyConnection, k: int, n: int) -> None:
    expected = binomtest(k, n).proportion_ci(method="wilson")
    sql = f"select wilson_low({k} / {n}, {n}), wilson_high({k} / {n}, {n})"
    assert connection.execute(sql).fetchone() == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_clusters_that_do_not_vary_count_as_one_observation_each(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    sql = "select effective_n(c, n, 1, sum(n)) from (values {}) as t (c, n)"
    for cluster in ("(16, 16)", "(0, 16)", "(8, 16)"):
        same = ", ".join([cluster] * 5)
        assert connection.execute(sql.format(same)).fetchone() == (5.0,)
    assert connection.execute(sql.format("(16, 16), (0, 16), (16, 16), (0, 16)")).fetchone() == (
        pytest.approx(3.0),
    )


def test_weights_stand_for_repeated_clusters(connection: duckdb.DuckDBPyConnection) -> None:
    sql = "select effective_n(c, n, w, {}) from (values {}) as t (c, n, w)"
    weighed = sql.format("sum(n * w)", "(3, 8, 4), (8, 8, 2)")
    repeated = sql.format("sum(n)", ", ".join(["(3, 8, 1)"] * 4 + ["(8, 8, 1)"] * 2))
    assert connection.execute(weighed).fetchone() == connection.execute(repeated).fetchone()


def test_nothing_observed_has_no_interval(connection: duckdb.DuckDBPyConnection) -> None:
    sql = "select share(c, n), cluster_low(c, n), cluster_high(c, n) from (values {}) as t (c, n)"
    assert connection.execute(sql.format("(0, 0), (0, 0)")).fetchone() == (None, None, None)


def test_t_quantile(connection: duckdb.DuckDBPyConnection) -> None:
    degrees = [*range(1, 41), 100, 1000, 17_000]
    rows = connection.execute("select t_quantile(df) from (select unnest(?) as df)", [degrees]).fetchall()
    assert [q for (q,) in rows] == pytest.approx([t.ppf(0.975, df) for df in degrees], abs=1e-6)


DISCORDANT = [(0, 0), (1, 0), (3, 12), (12, 3), (7, 7), (7, 8), (400, 470), (30_000, 31_000)]


@pytest.mark.parametrize(("b", "c"), DISCORDANT)
def test_mcnemar(connection: duckdb.DuckDBPyConnection, b: int, c: int) -> None:
    sql = "select mcnemar_p(?::bigint, ?::bigint), mcnemar_mid_p(?::bigint, ?::bigint)"
    p, mid_p = connection.execute(sql, [b, c, b, c]).fetchone() or (None, None)
    tables = importlib.import_module("statsmodels.stats.contingency_tables")
    assert p == pytest.approx(tables.mcnemar([[50, b], [c, 10]], exact=True).pvalue, rel=1e-6)
    point = 0.0 if b == c else float(binom.pmf(min(b, c), b + c, 0.5))
    assert mid_p == pytest.approx(p - point, rel=1e-6)


def test_paired_difference(connection: duckdb.DuckDBPyConnection) -> None:
    draws = []
    for seed in range(100):
        draw = random.Random(seed)
        sizes = [draw.randint(1, 16) for _ in range(draw.randint(2, 20))]
        # In every fourth draw nothing is lost; in every eighth nothing is gained either.
        gains = [draw.randint(0, n) if seed % 8 else 0 for n in sizes]
        losses = [draw.randint(0, n - g) if seed % 4 else 0 for g, n in zip(gains, sizes, strict=True)]
        draws.append(list(zip(gains, losses, sizes, strict=True)))
    values = ", ".join(f"({k}, {g}, {x}, {n})" for k, clusters in enumerate(draws) for g, x, n in clusters)
    rows = connection.execute(
        "with sums as ("
        f"select k, paired(g, l, n) as d from (values {values}) as t (k, g, l, n) group by k"
        ") select d.difference, d.se, paired_low(d), paired_high(d) from sums order by k"
    ).fetchall()
    for clusters, row in zip(draws, rows, strict=True):
        assert list(row) == pytest.approx(list(expected_difference(clusters).values()), abs=1e-7), clusters


def test_two_scores_that_never_differ_have_an_interval_all_the_same(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    sql = (
        "with sums as (select paired(g, l, n) as d from (select 0 as g, 0 as l, 16 as n from range(20)))"
        "select d.difference, d.se, paired_low(d), paired_high(d) from sums"
    )
    nobody = binomtest(0, 20).proportion_ci(method="wilson").high
    assert connection.execute(sql).fetchone() == pytest.approx((0.0, 0.0, -nobody, nobody))
