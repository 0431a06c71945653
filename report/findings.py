"""Say in one sentence what a page shows: its headline, and the answer that each of its sections gives.

A section whose question has no answer in this edition has no sentence, and is left out of the page.
"""

from collections.abc import Collection
from statistics import fmean

from pretexeval.primitives.errors import count_noun
from report.certainty import Share, has_interval, order_certainly, select_certain
from report.contents import Contents, Row
from report.edition_differences import describe_aspects
from report.facet_scores import list_asked, note_unanswered, note_unanswered_questions
from report.formats import (
    BRIEF_FORMS,
    format_count,
    format_magnitude,
    format_percent,
    format_words,
    join_names,
)
from report.leaders import (
    Lead,
    choose_measure,
    describe_comparison,
    describe_lead,
    find_lead,
    find_question_lead,
)
from report.remarks import (
    N_EFFECTIVE,
    judge_against_shortcut,
    list_remarks,
    note_base,
    note_labels,
    note_replies,
)

ENDS = ("", "_ci_low", "_ci_high")
SHORTCUT = "the best shortcut without medical knowledge"


def describe_edition(contents: Contents) -> str:
    """Return the headline: what the first model knows, and how far it is ahead; empty without scores."""
    ranked = contents.select_setting()
    if not ranked or ranked[0]["average_accuracy"] is None:
        return _describe_questions(contents)
    first = ranked[0]
    label = contents.label(first["model_id"])
    if first["mastery"] is None:
        right, n = format_percent(first["average_accuracy"]), format_count(first["n_samples"])
        text = f"{label} judges {right} of {n} statements correctly"
    else:
        facts = f"{format_percent(first['mastery'])} of {format_count(first['n_complete_pairs'])} facts"
        text = f"{label} masters {facts}{_compare_with_shortcut(first)}"
    return _add_lead(text, contents, _find_lead(contents))


def _compare_with_shortcut(row: Row) -> str:
    verdict = judge_against_shortcut(row)
    if verdict is None:
        return ""
    points = format_magnitude(row["mastery_above_shortcut"])
    return {
        "above": f", {points} points more than {SHORTCUT}",
        "below": f", {points} points less than {SHORTCUT}",
        "not distinguishable": f", which {SHORTCUT} may do as well",
    }[verdict]


def _describe_questions(contents: Contents) -> str:
    if not contents.questions or not contents.questions.scores:
        return ""
    top = contents.questions.scores[0]
    n_asked = len(list_asked(top))
    n_types = "one type" if n_asked == 1 else f"{n_asked} types"
    share, n = format_percent(top["mastered_rate"]), format_count(top["n_points"])
    text = f"{contents.label(top['model_id'])} masters {share} of {n} points in questions of {n_types}"
    return _add_lead(text, contents, find_question_lead(contents.questions))


def _add_lead(text: str, contents: Contents, lead: Lead | None) -> str:
    clause = describe_lead(lead, contents.labels) if lead else ""
    return f"{text}, and {clause}." if clause else f"{text}."


def _find_lead(contents: Contents) -> Lead | None:
    ranked = contents.select_setting()
    model_ids = [row["model_id"] for row in ranked]
    return (
        find_lead(model_ids, contents.views["model_comparison"], choose_measure(ranked[0]))
        if ranked
        else None
    )


def list_notes(contents: Contents) -> list[str]:
    """Return what a reader of the leaderboard should know, alike remarks in one sentence."""
    ranked = contents.select_setting()
    asked = contents.questions.scores if contents.questions else []
    n_pairs = format_count(contents.edition["n_pairs"])
    notes = [*list_remarks(ranked, contents.labels), *note_replies(contents.views["reply_remarks"])]
    for labels, n in contents.list_limited():
        verb = "was" if len(labels) == 1 else "were"
        notes.append(
            f"{join_names(labels, len(labels))} {verb} asked about {format_count(n)} of {n_pairs} pairs, and "
            "compared with shortcuts on the same pairs."
        )
    counts = {
        contents.label(row["model_id"]): (row["n_items"] - row["n_not_needed"], row["n_items"])
        for row in contents.runs
        if row["n_not_needed"]
    }
    if counts:
        asked_of = [f"{label} was asked {' of '.join(map(format_count, n))}" for label, n in counts.items()]
        notes.append(
            f"{join_names(asked_of, len(asked_of))} samples, which is enough for mastery and average "
            "accuracy; what compares the forms of a fact counts one pair in ten."
        )
    if any(row["n_effective"] is not None and row["n_effective"] < N_EFFECTIVE for row in ranked):
        notes.append(
            f"With fewer than {N_EFFECTIVE} effective heads or tails, intervals are only a rough guide."
        )
    notes += note_labels(contents.views["exchanged"], contents.labels)
    notes += note_base(ranked, contents.views["of_base"], contents.labels)
    return [*notes, *note_unanswered(ranked), *note_unanswered_questions(asked)]


def list_answers(contents: Contents) -> dict[str, str]:
    """Return id -> the answer of each section of the page, in their order."""
    lead, has_rows = _find_lead(contents), bool(contents.views["model_comparison"])
    scores = contents.questions.scores if contents.questions else []
    answers = {
        "comparison": describe_comparison(lead, contents.labels) if lead and has_rows else "",
        "relations": _answer_relations(contents),
        "forms": _answer_forms(contents),
        "facts": _answer_facts(contents),
        "unsure": _answer_unsure(contents),
        "facets": describe_facets(scores) if scores else "",
        "drift": _answer_drift(contents),
        "asked": _answer_asked(contents),
    }
    return {section: answer for section, answer in answers.items() if answer}


def _answer_relations(contents: Contents) -> str:
    """Return in how many relations models differ for certain, or which ones a single model knows better."""
    measure = contents.relation_measure
    known = [row for row in contents.views["accuracy_by_relation"] if row[measure] is not None]
    names = sorted({row["relation"] for row in known})
    if not names:
        return ""
    if len(names) == 1:
        return f"All facts are of the relation “{format_words(names[0])}”"
    if len(contents.models) == 1:
        return _compare_relations(contents.models[0].label, known, measure)
    compared = [
        row
        for row in contents.views["relation_differences"]
        if row["measure"] == measure and has_interval(row)
    ]
    if not compared:
        return "Too few facts of each relation to tell models apart in one"
    certain, enough = select_certain(compared), {row["relation"] for row in compared}
    if not certain:
        return f"No relation{_limit_to(enough, names)} tells the models apart for certain"
    largest = max(certain, key=lambda row: (abs(row["difference"]), row["relation"]))
    n = len({row["relation"] for row in certain})
    compared_with = f"{count_noun(len(enough), 'relation')}{_limit_to(enough, names)}"
    return (
        f"Models differ for certain in {n} of {compared_with}, by up to "
        f"{format_magnitude(largest['difference'])} points of {format_words(measure)} in "
        f"“{format_words(largest['relation'])}” ({format_count(largest['n_pairs'])} pairs)"
    )


def _limit_to(enough: Collection[str], names: Collection[str]) -> str:
    """Return how a sentence limits the relations to those with an interval, if others have none."""
    return "" if len(enough) == len(names) else " with enough facts"


def _compare_relations(label: str, rows: list[Row], measure: str) -> str:
    limits = {row["relation"]: tuple(row[f"{measure}{end}"] for end in ENDS) for row in rows}
    enough = {name: share for name, share in limits.items() if None not in share}
    order = order_certainly(enough)
    if not order:
        return f"No relation{_limit_to(enough, limits)} is certainly better known to {label} than another"
    lower, higher, _ = order[0]
    shares = {name: format_percent(limits[name][0], 0) for name in (lower, higher)}
    return (
        f"{label} knows “{format_words(higher)}” better than “{format_words(lower)}”: "
        f"{shares[higher]} against {shares[lower]}"
    )


def _answer_forms(contents: Contents) -> str:
    """Return the form with the largest certain loss against the plain one, among all forms of all models."""
    rows = [row for row in contents.views["form_effects"] if has_interval(row)]
    if not rows:
        has_forms = any(row["difference"] is not None for row in contents.views["form_effects"])
        return "Too few facts to tell what a form costs" if has_forms else ""
    certain = [row for row in select_certain(rows) if row["difference"] < 0]
    if not certain:
        return "No form of a statement is certainly harder than the plain one"
    worst = min(certain, key=lambda row: (row["difference"], row["model_id"], row["transformation"]))
    form = BRIEF_FORMS[worst["transformation"]]
    return f"{form} cost {contents.label(worst['model_id'])} {format_magnitude(worst['difference'])} points"


def _answer_facts(contents: Contents) -> str:
    """Return which models are better on false twins than on true facts, or the other way round."""
    denying, affirming, n = [], [], 0
    for model in contents.models:
        sides = {row["group_name"]: row for row in contents.select_model("true_and_false", model)}
        limits = [sides[side][f"average_accuracy_ci_{end}"] for side in sides for end in ("low", "high")]
        if len(limits) < 4 or None in limits:
            continue
        n += 1
        if sides["true fact"]["average_accuracy_ci_high"] < sides["false twin"]["average_accuracy_ci_low"]:
            denying.append(model.label)
        elif sides["true fact"]["average_accuracy_ci_low"] > sides["false twin"]["average_accuracy_ci_high"]:
            affirming.append(model.label)
    n_asked = len(contents.models)
    clauses = [
        _say_leaning(denying, n_asked, "denies", "deny"),
        _say_leaning(affirming, n_asked, "affirms", "affirm"),
    ]
    alike = "No model is certainly better at true facts, or at false twins"
    return "; ".join(filter(None, clauses)) or (alike if n else "")


def _answer_unsure(contents: Contents) -> str:
    """Return what the model with the best score under a penalty is unsure of, and how often it errs."""
    rows = contents.views["knows_guesses_errs"]
    if not rows:
        return ""
    best = rows[0]
    unsure, wrong = format_percent(best["unsure_rate"], 0), format_percent(best["wrong_rate"], 0)
    return (
        f"Knows, guesses, errs: {contents.label(best['model_id'])} is unsure of {unsure}, and errs on {wrong}"
    )


def _say_leaning(labels: list[str], n: int, verb: str, verb_of_several: str) -> str:
    if len(labels) == 1:
        return f"{labels[0]} {verb} facts that it does not know"
    who = "Models" if len(labels) == n else join_names(labels) if labels else ""
    return f"{who} {verb_of_several} facts that they do not know" if labels else ""


def describe_facets(scores: list[Row]) -> str:
    """Return which type of question is certainly harder than others, by the mean of the models.

    The types differ in how often a random answer is right, so the shares are those above chance.

    Args:
        scores: rows of read_facet_scores under one policy.
    """
    asked = list_asked(scores[0])
    of_facets = {facet: _correct_for_chance(scores, facet) for facet in asked}
    shares = {facet: share for facet, share in of_facets.items() if share is not None}
    if not shares:
        return ""
    if len(asked) == 1:
        return "One type of question was asked"
    order = order_certainly(shares)
    texts = {name: format_percent(max(share[0], 0.0), 0) for name, share in shares.items()}
    for facet in shares:
        if sum(lower == facet for lower, _, _ in order) == len(asked) - 1:
            next_one = min(shares.keys() - {facet}, key=lambda name: shares[name][0])
            way = f"{texts[facet]} of the way from chance to all right, others {texts[next_one]} or more"
            return f"{facet.capitalize()} is the hardest type of question: {way}"
    if not order:
        return "No type of question is certainly harder than another, corrected for chance"
    lower, higher, _ = order[0]
    return (
        f"{lower.capitalize()} is harder than {higher}: {texts[lower]} of the way from chance to all right, "
        f"against {texts[higher]}"
    )


def _correct_for_chance(rows: list[Row], facet: str) -> Share | None:
    """Return the mean accuracy of the models as a share of the way from random answers to all right.

    The means of the limits are limits of the mean, whatever the correlation of the models is.
    """
    random = rows[0][f"{facet}_random"]
    ends = [[row[f"{facet}{end}"] for row in rows] for end in ENDS]
    if any(None in values for values in ends):
        return None
    share, low, high = ((fmean(values) - random) / (1 - random) for values in ends)
    return share, low, high


def _answer_drift(contents: Contents) -> str:
    """Return the largest certain difference to another edition, or how far repeats differ."""
    rows = contents.views["edition_drift"]
    if certain := select_certain(rows):
        row = max(certain, key=lambda row: (abs(row["difference"]), row["model_id"], row["other_edition_id"]))
        side = "higher" if row["difference"] > 0 else "lower"
        how_far = f"{format_magnitude(row['difference'])} points {side}"
        other = f"{row['other_edition_id']}, {describe_aspects(row['aspects'])}"
        return f"{contents.label(row['model_id'])} scores {how_far} here than on {other}"
    if any(map(has_interval, rows)):
        return "No model scores differently for certain on another edition"
    if rows:
        return "Too few shared facts to compare the scores with those on another edition"
    spreads = [row["average_accuracy_sd"] for row in contents.views["repeats"] if row["average_accuracy_sd"]]
    if spreads:
        return f"Scores of repeats have a standard deviation of up to {format_magnitude(max(spreads))} points"
    return "Repeated answers give the same scores" if contents.views["repeats"] else ""


def _answer_asked(contents: Contents) -> str:
    """Return how many prompts were answered, and their cost."""
    rows = contents.order_rows(contents.views["cost"])
    costs = [row["cost"] for row in rows if row["cost"] is not None]
    n = format_count(sum(row["n_prompts"] for row in rows))
    models = "One model" if len(rows) == 1 else f"{len(rows)} models"
    answered = f"{models} answered {n} prompts" if rows else ""
    return f"{answered} at a cost of {sum(costs):.2f}" if costs else answered
