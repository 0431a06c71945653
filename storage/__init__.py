"""The data folder and its bucket: every path, atomic writes, records, the response store, locks."""
