"""The warehouse: `warehouse.duckdb`, built from the Parquet files of a run, and the views on it.

Parquet is the truth; the DuckDB file is built anew by every publication and can be thrown away.
To add a view: write `views/<name>.sql`, its first line `-- Grain: …`, and name it in `catalogue.VIEWS`.
"""
