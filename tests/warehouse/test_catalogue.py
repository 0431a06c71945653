import re
from math import sqrt

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, norm

from warehouse.catalogue import FOLDER, VIEWS, create_tables

Z = float(norm.ppf(0.975))
CLUSTERS = st.lists(
    st.integers(1, 16).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
    min_size=1,
    max_size=30,
)


@pytest.fixture(scope="module")
def connection() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    create_tables(connection)
    return connection


def expected_interval(clusters: list[tuple[int, int]]) -> tuple[float, float]:
    """Method, section 4, as it is written there: Wilson on n / deff."""
    m, n = len(clusters), sum(n for _, n in clusters)
    p = sum(c for c, _ in clusters) / n
    residuals = [c - p * size for c, size in clusters]
    if m < 2 or all(abs(r) < 1e-9 for r in residuals):
        deff = n / m
    else:
        variance = m / (m - 1) * sum(r * r for r in residuals) / n**2
        deff = max(1.0, variance / (p * (1 - p) / n))
    k = n / deff
    centre = (p + Z**2 / (2 * k)) / (1 + Z**2 / k)
    half = Z * sqrt(p * (1 - p) / k + Z**2 / (4 * k**2)) / (1 + Z**2 / k)
    return centre - half, centre + half


def test_every_view_is_listed_and_starts_with_its_grain() -> None:
    files = {path.stem: path.read_text() for path in (FOLDER / "views").glob("*.sql")}
    assert sorted(VIEWS) == sorted(files)
    for name, text in files.items():
        assert text.startswith("-- Grain: one row per "), name
        assert f"create or replace view {name} as\n" in text
        assert not re.search(r"group by \d", text), name
        assert not re.search(r"^select \*", text, re.MULTILINE), name


@given(clusters=CLUSTERS)
@settings(max_examples=60, deadline=None)
def test_clustered_interval(
    connection: duckdb.DuckDBPyConnection, clusters: list[tuple[int, int]]
) -> None:
    values = ", ".join(f"({c}, {n})" for c, n in clusters)
    sql = f"select cluster_low(c, n), cluster_high(c, n) from (values {values}) as t (c, n)"
    assert connection.execute(sql).fetchone() == pytest.approx(
        expected_interval(clusters), abs=1e-9
    )


@pytest.mark.parametrize(("k", "n"), [(0, 1), (0, 40), (7, 40), (40, 40)])
def test_wilson(connection: duckdb.DuckDBPyConnection, k: int, n: int) -> None:
    expected = binomtest(k, n).proportion_ci(method="wilson")
    sql = f"select wilson_low({k} / {n}, {n}), wilson_high({k} / {n}, {n})"
    assert connection.execute(sql).fetchone() == pytest.approx(
        (expected.low, expected.high), abs=1e-12
    )


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
