"""Which models lead the questions of an edition, by paired differences in the same setting."""

from collections.abc import Iterable, Iterator

from report.contents import Contents, Row
from report.facet_scores import FacetScores
from report.leaders import describe_lead, is_distinguishable, join_names, split_by_level

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
