"""Statements and their wordings, which say the same (KEPT) or something else (CHANGED).

{X} and {Y} stand for the names. Part of the wordings was written after the rules, to test the rules on cases
that they were not made for.
"""

import csv
from pathlib import Path

DRUG = ("metformin", "type 2 diabetes")
DISEASE = ("iron deficiency anemia", "chronic kidney disease")

with Path(__file__).with_name("wordings.tsv").open(encoding="utf-8") as table:
    _ROWS = list(csv.DictReader(table, delimiter="\t", quoting=csv.QUOTE_NONE))
KEPT, CHANGED = (
    [(row["statement"], row["text"]) for row in _ROWS if row["meaning"] == meaning]
    for meaning in ("same", "other")
)
