"""The models that lead a ranking: the first one, and those that are not distinguishable from it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from report.certainty import has_interval, select_certain
from report.contents import EditionReader, Row, Setting
from report.facet_scores import QuestionContents
from report.formats import join_names


@dataclass(frozen=True)
class Lead:
    """How far the first model of a ranking is ahead; models are given by their ids, in their order."""

    first: str
    level: tuple[str, ...]
    """Not distinguishable from the first: the difference is not certain among those of all models."""
    behind: tuple[str, ...]
    """Distinguishable from the first, which is ahead of them."""
    before: tuple[str, ...]
    """Ahead of the first on what both were asked, although their own scores are lower."""
    n_others: int
    measure: str
    """What is compared: mastery, average accuracy or mastered points."""
    points: float | None = None
    """The difference to the nearest of those behind."""

    @property
    def leaders(self) -> tuple[str, ...]:
        """Return the first model and those on its level."""
        return (self.first, *self.level)


def find_lead(model_ids: Sequence[str], comparisons: Sequence[Row], measure: str) -> Lead | None:
    """Return how far the first model is ahead; None for an empty ranking.

    A model whose difference to the first is unknown, or comes from too few facts, is neither on its level nor
    behind.

    Args:
        model_ids: the models by rank.
        comparisons: the differences of all models from each other, the better one first.
    """
    if not model_ids:
        return None
    name = name_difference(measure)
    certain = select_certain(comparisons, name)
    known = {
        row["other_model_id"]: row
        for row in comparisons
        if row["model_id"] == model_ids[0] and has_interval(row, name)
    }
    level = [i for i in model_ids[1:] if i in known and known[i] not in certain]
    behind = [i for i in model_ids[1:] if i in known and known[i] in certain and known[i][name] > 0]
    points = [known[i][name] for i in behind]
    nearest = min(points, default=None)
    behind.sort(key=lambda model_id: known[model_id][name])
    before = [i for i in known if known[i] in certain and known[i][name] < 0]
    n_others = len(model_ids) - 1
    return Lead(model_ids[0], tuple(level), tuple(behind), tuple(before), n_others, measure, nearest)


def choose_measure(first: Row) -> str:
    """Return the measure by which a ranking with this first row is compared."""
    return "average accuracy" if first["mastery"] is None else "mastery"


def describe_lead(lead: Lead, labels: Mapping[str, str]) -> str:
    """Return what the headline says of the first model and the others; empty if it is compared with none.

    Args:
        labels: model_id -> the name of the model on the page.
    """
    if lead.before:
        names = join_names([labels[model_id] for model_id in lead.before])
        return f"is behind {names} in {lead.measure} on what both were asked"
    if lead.level:
        names = join_names([labels[model_id] for model_id in lead.level])
        return f"is not distinguishable from {names} in {lead.measure}"
    return f"is ahead of {_name_behind(lead, labels)} in {lead.measure}" if lead.behind else ""


def describe_comparison(lead: Lead, labels: Mapping[str, str]) -> str:
    """Return what the comparison with the first model shows, in one sentence."""
    first = labels[lead.first]
    if lead.before:
        return f"{first} {describe_lead(lead, labels)}"
    if lead.level:
        names = join_names([labels[model_id] for model_id in lead.level])
        return f"{first} cannot be told apart from {names} in {lead.measure}"
    if not lead.behind or lead.points is None:
        return "Too few facts to tell how far the models differ"
    points = f"{100 * lead.points:.1f} points of {lead.measure}"
    nearest = "" if lead.n_others == 1 else f" over the nearest, {labels[lead.behind[0]]}"
    return f"{first} is ahead of {_name_behind(lead, labels)}, by {points}{nearest}"


def _name_behind(lead: Lead, labels: Mapping[str, str]) -> str:
    if lead.n_others == 1:
        return labels[lead.behind[0]]
    n_behind = len(lead.behind)
    if n_behind < lead.n_others:
        return f"{n_behind} of {lead.n_others} others"
    return f"{'both' if n_behind == 2 else f'all {n_behind}'} others"


def read_comparisons(reader: EditionReader, setting: Setting, model_ids: Sequence[str]) -> list[Row]:
    """Return every two models once, the better one first."""
    return order_sides(reader.read_setting("model_comparison", setting), model_ids)


def map_pairs(rows: Sequence[Row], measure: str) -> dict[tuple[str, str], Row]:
    """Return (model, other model) -> the row of their comparison, in both orders, with `is_certain`.

    Args:
        rows: every two models once.
    """
    certain = select_certain(rows, name_difference(measure))
    marked = [row | {"is_certain": row in certain} for row in rows]
    return {(row["model_id"], row["other_model_id"]): row for one in marked for row in (one, swap_sides(one))}


def name_difference(measure: str) -> str:
    """Return the column of model_comparison with the difference in this measure."""
    return "mastery_difference" if measure == "mastery" else "difference"


def find_question_lead(asked: QuestionContents) -> Lead | None:
    """Return how far the first model of the questions is ahead in mastered points, within its setting."""
    setting = asked.scores[0]["setting"]
    ranked = [row["model_id"] for row in asked.scores if row["setting"] == setting]
    rows = [row for row in asked.mastered_differences if row["setting"] == row["other_setting"] == setting]
    return find_lead(ranked, order_sides(rows, ranked), "mastered points")


def order_sides(rows: Iterable[Row], model_ids: Sequence[str]) -> list[Row]:
    """Return the comparisons of two models, each with the one that stands first in the list as its first."""
    places = {model_id: place for place, model_id in enumerate(model_ids)}
    ordered = [
        row if places[row["model_id"]] < places[row["other_model_id"]] else swap_sides(row) for row in rows
    ]
    return sorted(ordered, key=lambda row: (places[row["model_id"]], places[row["other_model_id"]]))


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
            if to in row:
                swapped[to] = None if row[origin] is None else -row[origin]
    return swapped
