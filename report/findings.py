"""Say in one sentence what a page shows: its headline, and the answer that each of its sections gives.

A section whose question has no answer in this edition has no sentence, and is left out of the page.
"""

from collections.abc import Iterable
from statistics import fmean

from report.contents import Contents, Row
from report.facet_scores import note_unanswered, note_unanswered_questions
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
    describe_lead,
    find_lead,
    find_question_lead,
    is_distinguishable,
    select_differences,
)
from report.remarks import N_EFFECTIVE, judge_against_shortcut, note_base, note_replies

SIGNIFICANT = 0.05
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
    return _add_lead(text, contents, _find_lead(contents), len(ranked))


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
    share, n = format_percent(top.mastered["mastered_rate"]), format_count(top.mastered["n_points"])
    n_ranked = sum(score.setting == top.setting for score in contents.questions.scores)
    text = f"{contents.label(top.model_id)} masters {share} of {n} points in questions of four types"
    return _add_lead(text, contents, find_question_lead(contents.questions), n_ranked)


def _add_lead(text: str, contents: Contents, lead: Lead | None, n_ranked: int) -> str:
    clause = describe_lead(lead, contents.labels, n_ranked) if lead else ""
    return f"{text}, and {clause}." if clause else f"{text}."


def _find_lead(contents: Contents) -> Lead | None:
    return find_lead(contents.select_setting(), _list_differences(contents))


def _list_differences(contents: Contents) -> list[Row]:
    return select_differences(contents.select_setting(), contents.views["model_comparison"])


def list_notes(contents: Contents) -> list[str]:
    """Return what a reader of the leaderboard should know, alike remarks in one sentence."""
    ranked = contents.select_setting()
    asked = contents.questions.scores if contents.questions else []
    n_pairs = format_count(contents.edition["n_pairs"])
    notes = [*contents.list_remarks(), *note_replies(contents.views["reply_remarks"])]
    for labels, n in contents.list_limited():
        verb = "was" if len(labels) == 1 else "were"
        notes.append(
            f"{join_names(labels, len(labels))} {verb} asked about {format_count(n)} of {n_pairs} pairs, and "
            "compared with shortcuts on the same pairs."
        )
    if any(row["n_effective"] is not None and row["n_effective"] < N_EFFECTIVE for row in ranked):
        notes.append(
            f"With fewer than {N_EFFECTIVE} effective heads or tails, intervals are only a rough guide."
        )
    notes += note_base(ranked, contents.views["of_base"], contents.labels)
    return [*notes, *note_unanswered(ranked), *note_unanswered_questions(asked)]


def list_answers(contents: Contents) -> dict[str, str]:
    """Return id -> the answer of each section of the page, in their order."""
    answers = {
        "comparison": _answer_comparison(contents),
        "relations": _answer_relations(contents),
        "forms": _answer_forms(contents),
        "facts": _answer_facts(contents),
        "unsure": _answer_unsure(contents),
        "facets": _answer_facets(contents),
        "drift": _answer_drift(contents),
        "asked": _answer_asked(contents),
    }
    return {section: answer for section, answer in answers.items() if answer}


def _answer_comparison(contents: Contents) -> str:
    rows = contents.views["model_comparison"]
    lead = _find_lead(contents)
    if not rows or lead is None:
        return ""
    first = contents.label(lead.first)
    if lead.level:
        return f"{join_names([contents.label(i) for i in lead.leaders])} cannot be told apart"
    if not lead.behind:
        return f"How far {first} is ahead"
    differences = {row["other_model_id"]: row["difference"] for row in _list_differences(contents)}
    nearest = min(lead.behind, key=lambda model_id: (differences[model_id], model_id))
    points = format_magnitude(differences[nearest])
    return f"{first} is clearly ahead, by {points} points of {lead.measure} over {contents.label(nearest)}"


def _answer_relations(contents: Contents) -> str:
    """Return the relation in which models differ most, or the best and the worst one of a single model."""
    measure = contents.relation_measure
    shares: dict[str, list[float]] = {}
    for row in contents.views["accuracy_by_relation"]:
        if row[measure] is not None:
            shares.setdefault(row["relation"], []).append(row[measure])
    if not shares:
        return ""
    if len(contents.models) > 1:
        spread, relation = max((max(found) - min(found), name) for name, found in shares.items())
        if not spread:
            return "All models know the same relations"
        return f"Models differ most in “{format_words(relation)}”, by {format_magnitude(spread)} points"
    ranked = sorted((fmean(found), name) for name, found in shares.items())
    worst, best = ranked[0][1], ranked[-1][1]
    first = contents.models[0].label
    if best == worst:
        return f"{first} was asked about “{format_words(best)}”"
    return f"{first} knows “{format_words(best)}” best and “{format_words(worst)}” least"


def is_certain(row: Row) -> bool:
    """Return whether the effect of a form is significant, adjusted for the other forms of the model."""
    return row["holm_p_value"] is not None and row["holm_p_value"] < SIGNIFICANT


def _answer_forms(contents: Contents) -> str:
    """Return the form with the largest certain loss against the plain one."""
    rows = [row for row in contents.views["form_effects"] if row["difference"] is not None]
    if not rows:
        return ""
    certain = [row for row in rows if row["difference"] < 0 and is_certain(row)]
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
    clauses = [_say_leaning(denying, n, "denies", "deny"), _say_leaning(affirming, n, "affirms", "affirm")]
    alike = "True facts and their false twins are judged equally well"
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


def _answer_facets(contents: Contents) -> str:
    """Return the hardest and the easiest type of question, by the mean of the models."""
    scores = contents.questions.scores if contents.questions else []
    means = {}
    for facet in scores[0].facets if scores else ():
        known = [s.facets[facet]["accuracy"] for s in scores if s.facets[facet]["accuracy"] is not None]
        if known:
            means[facet] = fmean(known)
    if not means:
        return ""
    hardest, easiest = min(means, key=means.__getitem__), max(means, key=means.__getitem__)
    if hardest == easiest:
        return f"{format_percent(means[easiest], 0)} of the questions are answered rightly"
    low, high = format_percent(means[hardest], 0), format_percent(means[easiest], 0)
    return (
        f"{hardest.capitalize()} is the hardest type of question: {low} right, against {high} for {easiest}"
    )


def _answer_drift(contents: Contents) -> str:
    """Return the largest certain difference to another edition, or how far repeats differ."""
    rows = [row for row in contents.views["edition_drift"] if row["difference"] is not None]
    certain = [row for row in rows if is_distinguishable(row["difference_ci_low"], row["difference_ci_high"])]
    if certain:
        row = max(certain, key=lambda row: (abs(row["difference"]), row["model_id"], row["other_edition_id"]))
        side = "higher" if row["difference"] > 0 else "lower"
        how_far = f"{format_magnitude(row['difference'])} points {side}"
        return f"{contents.label(row['model_id'])} scores {how_far} here than on {row['other_edition_id']}"
    if rows:
        return "No model scores differently on another edition"
    spreads = [row["average_accuracy_sd"] for row in contents.select_repeats() if row["average_accuracy_sd"]]
    if spreads:
        return f"Sampling alone moves a score by up to {format_magnitude(max(spreads))} points"
    return "Repeated answers give the same scores" if contents.select_repeats() else ""


def _answer_asked(contents: Contents) -> str:
    rows = [row for _, row in contents.match_models(contents.views["cost"])]
    costs = _add_costs(rows)
    n = format_count(sum(row["n_prompts"] for row in rows))
    models = "One model" if len(rows) == 1 else f"{len(rows)} models"
    answered = f"{models} answered {n} prompts" if rows else ""
    return f"{answered} for {join_names(costs)}" if costs else answered


def _add_costs(rows: Iterable[Row]) -> list[str]:
    """Return the sum of the costs in each currency."""
    sums: dict[str, float] = {}
    for row in rows:
        if row["cost"] is not None:
            sums[row["price_currency"]] = sums.get(row["price_currency"], 0.0) + row["cost"]
    return [f"{cost:.2f} {currency}" for currency, cost in sorted(sums.items())]
