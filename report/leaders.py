"""Which models lead a ranking: the first one, and those that are not distinguishable from it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from report.contents import Contents, Row, Setting
from report.edition_reader import EditionReader
from report.facet_scores import FacetScores

N_NAMED = 5
"""How many leading models a sentence names at most."""


@dataclass(frozen=True)
class Lead:
    """How far the first model of a ranking is ahead; models are given by their ids, in their order."""

    first: str
    level: tuple[str, ...]
    """Not distinguishable from the first: the 95 % interval of the paired difference contains 0."""
    behind: tuple[str, ...]
    """Distinguishable from the first, which is ahead of them."""
    measure: str
    """What is compared: mastery, or average accuracy if the first model has no mastery."""

    @property
    def leaders(self) -> tuple[str, ...]:
        """Return the first model and those on its level."""
        return (self.first, *self.level)


def find_lead(ranked: Sequence[Row], differences: Sequence[Row]) -> Lead | None:
    """Return how far the first model is ahead; None for an empty ranking.

    A model whose difference to the first is unknown is neither on its level nor behind.

    Args:
        ranked: the rows of the leaderboard under one setting, by rank.
        differences: the first model minus each other one: other_model_id, difference, difference_ci_low and
            difference_ci_high in the measure of `choose_measure`.
    """
    if not ranked:
        return None
    return split_by_level([row["model_id"] for row in ranked], differences, choose_measure(ranked[0]))


def split_by_level(model_ids: Sequence[str], differences: Sequence[Row], measure: str) -> Lead:
    """Return which of the models are on the level of the first one, and which are behind it."""
    by_other = {row["other_model_id"]: row for row in differences}
    level, behind = [], []
    for model_id in model_ids[1:]:
        found = by_other.get(model_id)
        if found is None or found["difference"] is None:
            continue
        if not is_distinguishable(found["difference_ci_low"], found["difference_ci_high"]):
            level.append(model_id)
        elif found["difference"] > 0:
            behind.append(model_id)
    return Lead(model_ids[0], tuple(level), tuple(behind), measure)


def choose_measure(first: Row) -> str:
    """Return the measure by which a ranking with this first row is compared."""
    return "average accuracy" if first["mastery"] is None else "mastery"


def select_differences(ranked: Sequence[Row], comparisons: Sequence[Row]) -> list[Row]:
    """Return the differences of the first model from rows of model_comparison in which it comes first."""
    if not ranked:
        return []
    prefix = "mastery_" if choose_measure(ranked[0]) == "mastery" else ""
    names = ("difference", "difference_ci_low", "difference_ci_high")
    return [
        {"other_model_id": row["other_model_id"]} | {name: row[prefix + name] for name in names}
        for row in comparisons
        if row["model_id"] == ranked[0]["model_id"]
    ]


def is_distinguishable(low: float | None, high: float | None) -> bool:
    """Return whether the interval of a difference is known and does not contain 0."""
    return low is not None and high is not None and (low > 0 or high < 0)


def describe_lead(lead: Lead, labels: dict[str, str], n_ranked: int) -> str:
    """Return a sentence about the first model and the others; empty if it is compared with none.

    Args:
        labels: model_id -> the name of the model on the page.
    """
    n_others = n_ranked - 1
    if lead.level:
        names = join_names([labels[model_id] for model_id in lead.leaders])
        verb = "are not distinguishable" if len(lead.level) == n_others else f"lead the {n_ranked} models"
        if len(lead.level) == 1:
            return (
                f"{names} {verb}: the difference between them in {lead.measure} is within its 95 % interval."
            )
        return (
            f"{names} {verb}: the differences in {lead.measure} between {labels[lead.first]} and the others "
            "of them are within their 95 % intervals."
        )
    if not lead.behind:
        return ""
    if len(lead.behind) == 1:
        other = labels[lead.behind[0]] + ("" if n_others == 1 else f", one of {n_others} other models")
        interval = f"the 95 % interval of the difference in {lead.measure}"
        return f"It is ahead of {other}: {interval} does not contain 0."
    count = f"all {n_others}" if len(lead.behind) == n_others else f"{len(lead.behind)} of {n_others}"
    return (
        f"It is ahead of {count} other models: no 95 % interval of a difference in {lead.measure} contains 0."
    )


def join_names(names: Sequence[str]) -> str:
    """Return the names as a list in a sentence; of many names, only the first ones and a number."""
    shown = list(names)
    if len(shown) > N_NAMED:
        shown = [*shown[: N_NAMED - 1], f"{len(shown) - N_NAMED + 1} more"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def read_lead(reader: EditionReader, setting: Setting, ranked: Sequence[Row]) -> Lead | None:
    """Return how far the first model is ahead of the others, by the paired comparisons."""
    if not ranked:
        return None
    first, others = ranked[0]["model_id"], [row["model_id"] for row in ranked[1:]]
    return find_lead(ranked, _compare(reader, setting, first, others, choose_measure(ranked[0])))


def _compare(reader: EditionReader, setting: Setting, first: str, others: list[str], name: str) -> list[Row]:
    """Return the paired differences between the first model and each of the others."""
    return reader.read(
        "select other_model_id, difference, difference_ci_low, difference_ci_high from storage.paired_models "
        "where edition_id = $edition_id and method = $method and scoring_policy = $scoring_policy "
        "and repeat = $repeat and model_id = $first and list_contains($others, other_model_id) "
        "and relation is null and measure = $measure",
        first=first,
        others=others,
        measure=name.replace(" ", "_"),
        **vars(setting),
    )


MEASURE = "mastered points"
NAMES = ("difference", "difference_ci_low", "difference_ci_high")


def describe_question_lead(contents: Contents) -> str:
    """Return sentences about the first model of the questions and the others; empty without others."""
    asked = contents.questions
    if asked is None or not asked.scores:
        return ""
    top = asked.scores[0]
    others = [score for score in asked.scores[1:] if score.setting == top.setting]
    labels = {model.model_id: model.label for model in contents.models}
    lead = split_by_level(
        [top.model_id, *(score.model_id for score in others)],
        list(_orient(asked.mastered_differences, top)),
        MEASURE,
    )
    sentences = [describe_lead(lead, labels, len(others) + 1)]
    if others:
        sentences.append(_describe_facets(asked.facet_differences, top, others[0], labels))
    return " ".join(filter(None, sentences))


def _describe_facets(
    rows: Iterable[Row], top: FacetScores, second: FacetScores, labels: dict[str, str]
) -> str:
    """Return in which facets the first model is ahead of the second, and in which it is not."""
    ahead: list[str] = []
    behind: list[str] = []
    level: list[str] = []
    for row in _orient(rows, top):
        if row["other_model_id"] != second.model_id or row["difference"] is None:
            continue
        if not is_distinguishable(row["difference_ci_low"], row["difference_ci_high"]):
            level.append(row["facet"])
        else:
            (ahead if row["difference"] > 0 else behind).append(row["facet"])
    texts = [
        f"{text} {join_names(facets)}"
        for text, facets in (("is ahead in", ahead), ("is behind in", behind))
        if facets
    ]
    if level:
        texts.append(f"is not distinguishable from it in {join_names(level)}")
    return f"Compared with {labels[second.model_id]} by facets, it {join_names(texts)}." if texts else ""


def _orient(rows: Iterable[Row], top: FacetScores) -> Iterator[Row]:
    """Return the differences of the first model minus each other one in the same setting."""
    for row in rows:
        if not row["setting"] == row["other_setting"] == top.setting:
            continue
        if row["model_id"] == top.model_id:
            yield row
        elif row["other_model_id"] == top.model_id:
            difference, low, high = (None if row[name] is None else -row[name] for name in NAMES)
            swapped = {"difference": difference, "difference_ci_low": high, "difference_ci_high": low}
            yield row | swapped | {"other_model_id": row["model_id"]}
