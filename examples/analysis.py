"""Read the results of a run in Python: DuckDB answers the questions, and polars holds the answers.

Run it as a script from the root of the repository, after `make run`:

    .venv/bin/python examples/analysis.py

Or open it in an editor that knows `# %%` cells (VS Code, PyCharm, Spyder), and run it cell by cell. Set the
variable WAREHOUSE to the path of another warehouse to read that one.
"""

# %% Open the warehouse.
# `read_only=True` cannot change anything and does not lock out other readers. Every publication builds a new
# file and renames it over the old one, so open the file again after each `pretexeval publish`.
import os

import duckdb
import polars as pl

WAREHOUSE = os.environ.get("WAREHOUSE", "data/warehouse.duckdb")
connection = duckdb.connect(WAREHOUSE, read_only=True)


def ask(sql: str) -> pl.DataFrame:
    """Return the rows of a query as a polars frame."""
    frame: pl.DataFrame = connection.sql(sql).pl()
    return frame


# %% List the views. The comment of a view says what one of its rows is.
views = ask("select view_name, comment as grain from duckdb_views() where not internal order by view_name")
with pl.Config(tbl_rows=-1, fmt_str_lengths=100):
    print(views)

# %% Read the leaderboard: one row per edition, model, method and scoring policy.
# Average accuracy is the share of samples that the model judged correctly. Guessing earns 50 %.
# Mastery is the share of facts that it judged correctly in all sixteen forms: eight forms of the fact, and
# eight of its false twin. A model that flips a coin for every sample masters nothing. One that flips a coin
# for every triplet, and then answers all its statements accordingly, masters a quarter of the facts.
leaderboard = ask(
    """
    select
        edition_id, method, rank, model, average_accuracy, average_accuracy_ci_low, average_accuracy_ci_high,
        mastery, no_answer_rate
    from leaderboard
    where scoring_policy = 'strict'
    order by edition_id, method, rank
    """
)
print(leaderboard)

# %% Choose what the rest of this file is about: the best model of the first edition, and its method.
best = leaderboard.row(0, named=True)
edition_id, method, model = best["edition_id"], best["method"], best["model"]
print(f"{model} on {edition_id}, method {method}")


def select_rows(view: str) -> pl.DataFrame:
    """Return the rows of a view for the chosen edition, method and model."""
    rows = ask(f"from {view} where scoring_policy = 'strict'")
    return rows.filter(edition_id=edition_id, method=method, model=model)


# %% Compare the relations: some kinds of knowledge are harder than others.
relations = select_rows("accuracy_by_relation").sort("mastery", "average_accuracy", descending=True)
print(relations.select("relation", "n_pairs", "average_accuracy", "mastery"))

# %% Read the intervals before you compare.
# Every accuracy has a 95 % interval. The samples of a pair are correlated, so the pair is the independent
# unit, and a relation with few pairs has a wide interval. If the intervals of two relations overlap, the data
# do not show that one of them is harder. So never rank by the shares alone.
low, high = pl.col("mastery_ci_low"), pl.col("mastery_ci_high")
widths = relations.select("relation", "n_pairs", "mastery", low, high, (high - low).alias("width"))
print(widths.sort("width", descending=True))
if relations.height > 1:
    easiest, hardest = relations.row(0, named=True), relations.row(-1, named=True)
    is_clear = hardest["mastery_ci_high"] < easiest["mastery_ci_low"]
    print(f"Is {hardest['relation']} harder than {easiest['relation']}? {'yes' if is_clear else 'not shown'}")

# %% Compare with shortcuts: the scores of rules that know no medicine, on the same samples.
# A model that does not beat the best of them has shown no knowledge.
shortcuts = ask("from shortcut_baselines where relation is null")
shortcuts = shortcuts.filter(edition_id=edition_id, method=method)
print(shortcuts.select("baseline", "average_accuracy", "joint_accuracy", "mastery"))

# %% Find the missed points: the facts that the model did not master, the worst first.
# `wrong_of_true` names the transformations under which it misjudged the true triplet, and `wrong_of_false`
# those under which it misjudged the false one. A model that fails only under transformations with `dn` may
# know the fact and not understand the negation.
missed = select_rows("missed_points").sort("n_correct", "relation", "head")
print(f"{missed.height} facts missed")
print(missed.select("relation", "head", "true_tail", "n_correct", "n_samples", "wrong_of_true").head(10))

# %% Count how often each transformation goes wrong.
wrong = pl.concat([missed["wrong_of_true"], missed["wrong_of_false"]]).explode().drop_nulls()
print(wrong.rename("transformation").value_counts(sort=True))

# %% Read the replies about the worst missed fact, word by word.
if missed.height:
    details = select_rows("prediction_details").filter(pair_id=missed["pair_id"][0])
    details = details.sort("is_positive", "transformation", descending=[True, False])
    with pl.Config(tbl_rows=16, fmt_str_lengths=80):
        print(details.select("text", "label", "response", "is_correct"))

# %% Close the file.
connection.close()
