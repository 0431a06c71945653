"""The data folder and its bucket: paths, atomic writes, records, the response store and locks."""
