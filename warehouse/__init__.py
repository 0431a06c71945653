"""The warehouse: `warehouse.duckdb`, which is built from the Parquet files of a run, and its views.

The Parquet files are the source of truth. Every publication rebuilds the DuckDB file, so it can be deleted.
To add a view, write `views/<name>.sql` with the first line `-- Grain: …`, add its name to
`catalogue.VIEW_GROUPS`, and its key and the meanings of its columns to `schemas/meanings.toml`.
"""
