"""Say in one sentence what a page shows: its headline, and the answer that each of its sections gives.

A section whose question has no answer in this edition has no sentence, and is left out of the page.
"""

from statistics import fmean

from report.certainty import Share, has_interval, order_certainly, select_certain
from report.contents import Contents, Row
from report.edition_differences import describe_aspects
from report.facet_scores import list_asked, note_unanswered, note_unanswered_questions
from report.formats import (
    BRIEF_FORMS,
    format_count,
    format_counted,
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
        right, of = format_percent(first["average_accuracy"]), format_counted(first["n_samples"], "statement")
        text = f"{label} judges {right} of {of} correctly"
    else:
        facts = f"{format_percent(first['mastery'])} of {format_counted(first['n_complete_pairs'], 'fact')}"
        text = f"{label} masters {facts}{_compare_with_shortcut(first, len(ranked))}"
    return _add_lead(text, contents, _find_lead(contents))


def _compare_with_shortcut(row: Row, n_models: int) -> str:
    verdict = judge_against_shortcut(row, n_models)
    if verdict is None:
        return ""
    points = format_magnitude(row["mastery_above_shortcut"])
    return {
        "above": f", {points} points more than {SHORTCUT}",
        "below": f", {points} points less than {SHORTCUT}",
        "not distinguishable": f", which is not distinguishable from {SHORTCUT}",
    }[verdict]


def _describe_questions(contents: Contents) -> str:
    if not contents.questions or not contents.questions.scores:
        return ""
    top = contents.questions.scores[0]
    n_asked = len(list_asked(top))
    n_types = "one type" if n_asked == 1 else f"{n_asked} types"
    points = f"{format_percent(top['mastered_rate'])} of {format_counted(top['n_points'], 'point')}"
    text = f"{contents.label(top['model_id'])} masters {points} in questions of {n_types}"
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
    ranked = contents.label_rows(contents.select_setting())
    asked = contents.label_rows(contents.questions.scores) if contents.questions else []
    n_pairs = format_count(contents.edition["n_pairs"])
    replies = contents.label_rows(contents.views["reply_remarks"])
    notes = [*list_remarks(ranked), *note_replies(replies)]
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
    incomplete: dict[str, list[str]] = {}
    for row in ranked:
        if row["pair_left_out_rate"]:
            incomplete.setdefault(format_percent(row["pair_left_out_rate"]), []).append(row["model"])
    notes += [
        f"{rate} of the pairs of {join_names(labels)} are incomplete, and do not count for mastery."
        for rate, labels in incomplete.items()
    ]
    few = [row["model"] for row in ranked if (row["n_effective"] or N_EFFECTIVE) < N_EFFECTIVE]
    if few:
        notes.append(
            f"The intervals of {join_names(few)} are only a rough guide, because the facts amount to fewer "
            f"than {N_EFFECTIVE} effective heads or tails."
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
        "facets": describe_facets([row for row in scores if row["setting"] == scores[0]["setting"]]),
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
    if len({row["model_id"] for row in known}) == 1:
        return _compare_relations(contents.label(known[0]["model_id"]), known, measure)
    compared = [
        row
        for row in contents.views["relation_differences"]
        if row["measure"] == measure and has_interval(row)
    ]
    if not compared:
        return "The models share too few facts of a relation to be told apart in one"
    certain, enough = select_certain(compared), {row["relation"] for row in compared}
    few = _count_few(len(names) - len(enough), len(names))
    if not certain:
        return f"No relation tells the models apart for certain{few}"
    largest = max(certain, key=lambda row: (abs(row["difference"]), row["relation"]))
    n = len({row["relation"] for row in certain})
    points = f"{format_magnitude(largest['difference'])} points of {format_words(measure)}"
    n_pairs = format_counted(largest["n_pairs"], "pair")
    return (
        f"Models differ for certain in {n} of {len(names)} relations, most in "
        f"“{format_words(largest['relation'])}”: {points} on {n_pairs}{few}"
    )


def _count_few(n_few: int, n_relations: int) -> str:
    """Return the part of a sentence about the relations without an interval, if there are any."""
    return f"; {n_few} of {n_relations} ha{'s' if n_few == 1 else 've'} too few facts" if n_few else ""


def _compare_relations(label: str, rows: list[Row], measure: str) -> str:
    limits = {row["relation"]: tuple(row[f"{measure}{end}"] for end in ENDS) for row in rows}
    enough = {name: share for name, share in limits.items() if None not in share}
    order = order_certainly(enough)
    if not order:
        few = _count_few(len(limits) - len(enough), len(limits))
        return f"No relation is certainly better known to {label} than another{few}"
    lower, higher, _ = order[0]
    shares = {name: format_percent(limits[name][0], 0) for name in (lower, higher)}
    return (
        f"{label} knows “{format_words(higher)}” better than “{format_words(lower)}”: "
        f"{format_words(measure)} of {shares[higher]} against {shares[lower]}"
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
    form, points = BRIEF_FORMS[worst["transformation"]], format_magnitude(worst["difference"])
    return f"{form} cost {contents.label(worst['model_id'])} {points} points of average accuracy"


def _answer_facts(contents: Contents) -> str:
    """Return which models are better at false twins than at true facts, or the other way round."""
    better: dict[str, list[str]] = {"false twin": [], "true fact": []}
    n_models, n_compared = len({row["model_id"] for row in contents.views["true_and_false"]}), 0
    for model in contents.models:
        rows = contents.select_model("true_and_false", model)
        shares = {row["group_name"]: tuple(row[f"average_accuracy{end}"] for end in ENDS) for row in rows}
        if len(shares) < 2 or any(None in share for share in shares.values()):
            continue
        n_compared += 1
        for _, higher, _ in order_certainly(shares, n_models):
            better[higher].append(model.label)
    clauses = [
        _say_better(better["false twin"], n_models, "false twins than at true facts"),
        _say_better(better["true fact"], n_models, "true facts than at false twins"),
    ]
    alike = "No model is certainly better at true facts, or at false twins"
    return "; ".join(filter(None, clauses)) or (alike if n_compared else "")


def _say_better(labels: list[str], n_models: int, sides: str) -> str:
    if len(labels) < 2:
        return f"{labels[0]} is better at {sides}" if labels else ""
    return f"{'All models' if len(labels) == n_models else join_names(labels)} are better at {sides}"


def _answer_unsure(contents: Contents) -> str:
    """Return what the model with the best score under a penalty is unsure of, and how often it errs."""
    rows = contents.views["knows_guesses_errs"]
    if not rows:
        return ""
    best = rows[0]
    unsure, wrong = format_percent(best["unsure_rate"], 0), format_percent(best["wrong_rate"], 0)
    return (
        f"Knows, guesses, errs: {contents.label(best['model_id'])} is unsure of {unsure} of the statements, "
        f"and errs on {wrong}"
    )


def describe_facets(scores: list[Row]) -> str:
    """Return which type of question is certainly harder than others, by the mean of the models.

    The types differ in how often a random answer is right, so the shares are those above chance.

    Args:
        scores: rows of read_facet_scores under one policy and in one setting.
    """
    if not scores:
        return ""
    asked = list_asked(scores[0])
    mean = f" (mean of {len(scores)} models)" if len(scores) > 1 else ""
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
            return f"{facet.capitalize()} is the hardest type of question: {way}{mean}"
    if not order:
        return "No type of question is certainly harder than another, corrected for chance"
    lower, higher, _ = order[0]
    return (
        f"{lower.capitalize()} is harder than {higher}: {texts[lower]} of the way from chance to all right, "
        f"against {texts[higher]}{mean}"
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
    """Return the largest certain difference from another edition, or how far repeats differ."""
    rows = contents.views["edition_drift"]
    if certain := select_certain(rows):
        row = max(certain, key=lambda row: (abs(row["difference"]), row["model_id"], row["other_edition_id"]))
        heads = format_counted(row["n_heads"], "shared head")
        side = "higher" if row["difference"] > 0 else "lower"
        return (
            f"The average accuracy of {contents.label(row['model_id'])} on {heads} is "
            f"{format_magnitude(row['difference'])} points {side} here than on {row['other_edition_id']}, "
            f"{describe_aspects(row['aspects'])}"
        )
    if any(map(has_interval, rows)):
        return "No model has a certainly different average accuracy on another edition"
    if rows:
        return "Too few shared facts to compare the scores with those on another edition"
    spreads = [row["average_accuracy_sd"] or 0.0 for row in contents.views["repeats"]]
    if not spreads:
        return ""
    largest = format_magnitude(max(spreads))
    return f"Between repeats, average accuracy has a standard deviation of {largest} points at most"


def _answer_asked(contents: Contents) -> str:
    """Return how many prompts were asked, and the cost of the models of which it is known."""
    rows = contents.order_rows(contents.views["cost"])
    if not rows:
        return ""
    costs = [row["cost"] for row in rows if row["cost"] is not None and not row["n_unknown"]]
    n = format_counted(sum(row["n_prompts"] for row in rows), "prompt")
    asked = f"One model was asked {n}" if len(rows) == 1 else f"{len(rows)} models were asked {n}"
    part = "" if len(costs) == len(rows) else f" {len(costs)} of them"
    return f"{asked},{part} at a cost of {sum(costs):.2f}" if costs else asked
