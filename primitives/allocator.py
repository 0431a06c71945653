"""The memory allocator of Polars."""

# jemalloc keeps freed memory for ten seconds by default. With a tenth of a second, building a base of 8
# million rows needs 1.6 GB of memory instead of 2.0, in the same time. Libraries read it while they load.
VARIABLES = {"_RJEM_MALLOC_CONF": "dirty_decay_ms:100,muzzy_decay_ms:0"}
