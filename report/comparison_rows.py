"""Read the comparisons of a page: two models, or one model on two editions."""

from datetime import date

from config.schedule import find_first_day
from report.contents import Model, Row, Setting
from report.edition_reader import EditionReader

# With an edition per week, drift would soon fill the page, so only the nearest editions count.
N_EDITIONS_SHOWN = 4


def read_comparisons(
    reader: EditionReader, setting: Setting, models: list[Model], differences: list[Row]
) -> list[Row]:
    """Return every two models once, the better one first, with their detectable difference.

    Args:
        differences: the rows of the view detectable_difference under the setting.
    """
    places = {model.model_id: place for place, model in enumerate(models)}
    detectable = {(row["model_id"], row["other_model_id"]): row for row in differences}
    rows = []
    for row in reader.read_setting("model_comparison", setting):
        found = detectable.get((row["model_id"], row["other_model_id"]), {})
        names = ("detectable_difference", "detectable_mastery_difference")
        joined = row | {name: found.get(name) for name in names}
        is_better = places[row["model_id"]] < places[row["other_model_id"]]
        rows.append(joined if is_better else swap_sides(joined))
    return sorted(rows, key=lambda row: (places[row["model_id"]], places[row["other_model_id"]]))


def read_drift(reader: EditionReader, setting: Setting) -> tuple[list[Row], int]:
    """Return the rows of this edition against the nearest others, and the number of all others."""
    compared = list_in_time(reader)
    here = compared.index(reader.edition_id)
    others = sorted(compared[:here] + compared[here + 1 :], key=lambda name: abs(compared.index(name) - here))
    rows = []
    for other in sorted(others[:N_EDITIONS_SHOWN], key=compared.index):
        first, second = sorted((reader.edition_id, other), key=compared.index)
        found = reader.read_view("edition_drift", **vars(setting), edition_id=first, other_edition_id=second)
        rows += found if first == reader.edition_id else [swap_sides(row) for row in found]
    return rows, len(others)


def read_explanations(reader: EditionReader, setting: Setting) -> list[Row]:
    """Return what anchors say about the drift to this edition; empty if none were asked in its period."""
    # The view takes a second, and most warehouses have no anchors.
    if not reader.read("select 1 from anchor_runs limit 1"):
        return []
    return reader.read(
        "select * from drift_explanations where other_edition_id = $edition_id and method = $method "
        "and scoring_policy = $scoring_policy and repeat = $repeat "
        "order by is_successive desc, model, model_id, edition_id, anchor_edition_id",
        **vars(setting),
    )


def list_in_time(reader: EditionReader) -> list[str]:
    """Return this and the other editions of its base with a common model, in the order of edition_drift."""
    found = reader.read(
        "select edition_id, label from editions where kb = (select kb from editions "
        "where edition_id = $edition_id) and (edition_id = $edition_id or edition_id in "
        "(select edition_id from runs where model_id in "
        "(select model_id from runs where edition_id = $edition_id)))"
    )
    starts = {row["edition_id"]: find_first_day(str(row["label"])) or date.max for row in found}
    return sorted(starts, key=lambda name: (starts[name], name))


def swap_sides(row: Row) -> Row:
    """Return a row that compares two models or editions with the two sides swapped."""
    swapped = dict(row)
    for name in row:
        other = f"n_other_{name[2:]}" if name.startswith("n_") else f"other_{name}"
        if other in row:
            swapped[name], swapped[other] = row[other], row[name]
    for name in ("difference", "mastery_difference"):
        low, high = f"{name}_ci_low", f"{name}_ci_high"
        for to, origin in ((name, name), (low, high), (high, low)):
            swapped[to] = None if row[origin] is None else -row[origin]
    return swapped
