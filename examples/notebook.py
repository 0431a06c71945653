"""A notebook of marimo: three questions to the results of a run, with charts.

Open it from the root of the repository, after `make run`:

    make dev && .venv/bin/marimo edit examples/notebook.py

It also runs as a script (`.venv/bin/python examples/notebook.py`), which prints the tables. Set the variable
PRETEXEVAL_ROOT to the data folder of another run.
"""

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium")


@app.cell
def _():
    import os

    import altair as alt
    import marimo as mo
    import polars as pl

    import pretexeval

    root = os.environ.get("PRETEXEVAL_ROOT", "data")
    connection = pretexeval.open_warehouse(root)

    def ask(sql: str, **names: str) -> pl.DataFrame:
        """Return the rows of a query as a frame; names are its parameters ($name)."""
        frame: pl.DataFrame = connection.sql(sql, params=names).pl()
        return frame

    def show(title: str, note: str, shown: object, table: pl.DataFrame) -> None:
        """Show a chart or a table in the notebook; print the title and the table in a script."""
        if mo.running_in_notebook():
            mo.output.append(mo.vstack([mo.md(f"## {title}\n\n{note}"), shown]))
        else:
            print(title, table, sep="\n")

    return alt, ask, mo, pl, pretexeval, root, show


@app.cell
def _(ask, mo):
    editions = ask("select distinct edition_id from leaderboard order by edition_id")["edition_id"].to_list()
    chosen = mo.ui.dropdown(editions, value=editions[0], label="edition")
    chosen
    return (chosen,)


@app.cell
def _(alt, ask, chosen, pl, show):
    leaderboard = ask(
        """
        select model, method, average_accuracy, mastery, mastery_ci_low, mastery_ci_high
        from leaderboard
        where edition_id = $edition_id and scoring_policy = 'strict'
        order by method, rank
        """,
        edition_id=chosen.value,
    )
    base = alt.Chart(leaderboard).encode(y=alt.Y("model:N", sort=None), row="method:N")
    share = alt.Axis(format="%")
    intervals = base.mark_rule().encode(x=alt.X("mastery_ci_low:Q", axis=share), x2="mastery_ci_high:Q")
    points = base.mark_point(filled=True, size=60).encode(x=alt.X("mastery:Q", axis=share, title="mastery"))
    leaderboard_chart = alt.layer(intervals, points)
    _note = "Whether two models differ is in the view `model_comparison`: their own intervals do not tell it."
    show("Which model masters the most facts?", _note, leaderboard_chart, leaderboard)
    best = leaderboard.filter(pl.col("mastery") == pl.col("mastery").max()).row(0, named=True)
    return best, leaderboard, leaderboard_chart


@app.cell
def _(alt, best, chosen, pl, pretexeval, root, show):
    predictions = pretexeval.load_predictions(root, chosen.value, best["model"], method=best["method"])
    by_transformation = (
        predictions.drop_nulls("transformation")
        .group_by("relation", "transformation")
        .agg(pl.col("is_correct").mean().alias("accuracy"), pl.len().alias("n_samples"))
        .sort("relation", "transformation")
    )
    transformation_chart = (
        alt.Chart(by_transformation)
        .mark_rect()
        .encode(
            x="transformation:N",
            y="relation:N",
            color=alt.Color("accuracy:Q", scale=alt.Scale(domain=[0, 1]), legend=alt.Legend(format="%")),
            tooltip=["relation", "transformation", alt.Tooltip("accuracy:Q", format=".1%"), "n_samples"],
        )
    )
    _note = "A model that fails only under transformations with `dn` may know the fact and not the negation."
    show(f"Where does {best['model']} fail?", _note, transformation_chart, by_transformation)
    return by_transformation, transformation_chart


@app.cell
def _(ask, best, chosen, show):
    missed = ask(
        """
        with answers as (
            select
                relation, head, tail, pair_id,
                count(*) filter (model = $model) as n_asked,
                count(*) filter (model = $model and is_correct) as n_correct,
                count(distinct model) filter (model <> $model) as n_others,
                avg(is_correct::int) filter (model <> $model) as accuracy_of_others
            from prediction_details
            where edition_id = $edition_id and method = $method and scoring_policy = 'strict' and is_positive
            group by relation, head, tail, pair_id
        )

        select relation, head, tail, n_correct, n_asked, n_others, accuracy_of_others
        from answers
        where n_correct < n_asked
        order by n_correct / n_asked, accuracy_of_others desc nulls last, relation, head
        limit 20
        """,
        edition_id=chosen.value,
        model=best["model"],
        method=best["method"],
    )
    _note = "Each row is a fact; `n_correct` of its statements were judged rightly."
    show(f"Which facts does {best['model']} miss, and do others know them?", _note, missed, missed)
    return (missed,)


if __name__ == "__main__":
    app.run()
