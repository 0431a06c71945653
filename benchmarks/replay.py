"""Replay of the published answers to MultiMedQA: ``python -m benchmarks --only replay``.

Needs the reference data (multifacet_* and medqa_us_test.parquet; Zhou et al., "MultifacetEval", IJCAI 2024).
Three tables:

- questions: the published ones beside ours about the same items of MedQA, with the same random choices;
- extraction: what the authors found in the recorded answers of nine models, beside our reading;
- scores: the published items become an edition, the responses of every model are imported by id, and the
  views compute the scores, from the predictions of the authors and from the raw responses.

``--synonyms FILE`` writes the synonyms that the published questions used, as an input of
`configs/medqa.toml`.
"""

import re
import tempfile
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from benchmarks.measuring import build_parser, find_reference
from pretexeval.config.file import Config
from pretexeval.config.questions import Setting
from pretexeval.knowledge.medqa import fold_option, read_medqa
from pretexeval.knowledge.names import fold_name
from pretexeval.primitives.hashing import hash_json, hash_text
from pretexeval.storage.files import write_stage_file
from pretexeval.storage.layout import edition_folder, manifest_file, stage_file
from pretexeval.storage.records import list_files, write_record
from report.console import align
from schemas.question_stages import FACET_OF, LETTERS, QUESTIONS
from tasks.answers.reading import read_answer
from tasks.asking.prompts import join_case, render_answer
from tasks.evaluation.import_run import import_responses
from tasks.evaluation.recorded_rows import read_recorded_file
from tasks.quality.validation import require_valid, validate_stage
from tasks.questions.medqa_points import TurnedItem, turn_item
from warehouse.publishing import build_warehouse
from warehouse.query import run_query

SETTINGS: dict[str, Setting] = {"ao": "answer_only", "cot": "chain_of_thought"}
AUTHORS = "-authors"
"""Suffix of the name of a model whose responses are the authors' predictions."""
# The rules that read answers were written on the answers of these models only.
DEVELOPED_ON = ("bloomz-7b1-mt", "gpt-3.5-turbo", "llama2-70B", "llama2-7B", "vicuna_7B")
ENDING = ", is the statement above true or false? Please answer true/false."
MAQ_HINT = " There may be one or more correct choices."
STEPS = ("comparison", "verification", "rectification", "discrimination")
FORMS = {"are": "is", "were": "was", "do": "", "does": "", "did": "", "a": "", "an": "", "the": ""}
SCORES = """
    select setting, model, type, 100 * accuracy, no_answer_rate
    from facet_accuracy where facet is not null and is_negated is null and scoring_policy = 'strict'
"""
MASTERED = """
    select setting, model, is_negated_included, list(n_mastered order by step)
    from mastered_points where scoring_policy = 'strict' and taught_with is null group by all
"""
Row = dict[str, Any]


def read_questions(folder: Path) -> list[Row]:
    """Return the published questions, without what surrounds each of them."""
    rows = pl.read_parquet(folder / "multifacet_questions.parquet").to_dicts()
    return [row | {"text": row["question"].removeprefix("Question: ").removesuffix(ENDING)} for row in rows]


def group_points(questions: Sequence[Row]) -> list[dict[tuple[str, str], Row]]:
    """Return the points, each as (type, form) -> question."""
    points: dict[tuple[str, int], dict[tuple[str, str], Row]] = defaultdict(dict)
    for row in questions:
        points[row["split"], row["knowledge_point"]][row["type"], row["form"]] = row
    return list(points.values())


def compare_questions(folder: Path) -> tuple[Counter[str], list[tuple[str, str, bool, bool]]]:
    """Return why items of MedQA are not turned, and (type, form, has the same text, has the same answer).

    A text is the same if it differs only in punctuation, capitals, articles, number and form of verbs.
    """
    items = read_medqa(folder / "medqa_us_test.parquet").items
    turned = {fold_name(item.question): turn_item(item) for item in items}
    compared = []
    for point in group_points(read_questions(folder)):
        mcq = point["MCQ", "forward"]
        one = turned[fold_name(mcq["text"])]
        if isinstance(one, TurnedItem):
            for (kind, form), row in point.items():
                text, answer, theirs = _ask_ours(one, row, mcq)
                compared.append((kind, form, _fold(text) == _fold(theirs), answer == row["label"]))
    return Counter(reason for reason in turned.values() if isinstance(reason, str)), compared


def _ask_ours(turned: TurnedItem, row: Row, mcq: Row) -> tuple[str, str, str]:
    """Return our text and answer, and the published text; random choices are the published ones."""
    item, is_negated, theirs = turned.item, row["form"].endswith("negated"), row["text"]
    if row["type"] == "MAQ":
        text, after = turned.render_negated() if is_negated else item.question, turned.asked.after
        options = zip(LETTERS, row["options"], mcq["options"], strict=False)
        right = [x for x, new, old in options if (new != old or x == mcq["label"]) != is_negated]
        return f"{text.removesuffix(after)}{MAQ_HINT}{after}", ",".join(right), theirs
    if row["type"] != "TFQ":
        judged = f"{'T' if row['offered'] == item.letter else 'F'}|" if row["type"] == "RQ" else ""
        return item.question, judged + item.letter, theirs
    stated = re.split(r'"?, is the statement above', theirs[len(turned.asked.before) :])[0]
    stated = re.sub(r'^[\s.]*(?:Statement:\s*)?"', "", stated).strip().removesuffix('"').strip()
    letter = item.letter if row["form"].startswith("true") else _find_stated(turned, stated)
    answer = "T" if (letter == item.letter) != is_negated else "F"
    return turned.render_statement(letter, is_negated), answer, join_case(turned.asked.case, stated)


def _find_stated(turned: TurnedItem, stated: str) -> str:
    """Return the letter of the wrong option that a statement is about: the first one that it holds."""
    statement = f" {fold_option(stated)} "
    held = [
        (statement.find(f" {fold_option(option)} "), -len(option), letter)
        for letter, option in zip(LETTERS, turned.item.options, strict=False)
        if letter != turned.item.letter and f" {fold_option(option)} " in statement
    ]
    return min(held)[2]


def _fold(text: str) -> list[str]:
    words = (FORMS.get(word, word) for word in fold_name(text).split())
    return [word[:-1] if word.endswith("s") and len(word) > 3 else word for word in words if word]


def derive_synonyms(questions: Sequence[Row]) -> pl.DataFrame:
    """Return the synonyms in multiple-answer questions: answer and synonym, sorted and distinct.

    A right option that is not the multiple-choice question's option in its place replaced a wrong one. One in
    the answer's own spelling is no synonym.
    """
    pairs = set()
    for point in group_points(questions):
        mcq = point["MCQ", "forward"]
        answer = mcq["options"][LETTERS.index(mcq["label"])].strip()
        for new, old in zip(point["MAQ", "forward"]["options"], mcq["options"], strict=True):
            if new != old and fold_option(new) != fold_option(answer):
                pairs.add((answer, new.strip()))
    return pl.DataFrame(sorted(pairs), schema={"answer": pl.String, "synonym": pl.String}, orient="row")


def compare_extraction(folder: Path) -> Counter[tuple[str, str, str, bool]]:
    """Return how many responses we read as the authors do or not, by setting, type and models.

    A response in which the authors found no answer does not count.
    """
    questions = pl.read_parquet(folder / "multifacet_questions.parquet").filter(split="test")
    asked = questions.select("type", "form", "knowledge_point", "question", "options", "offered")
    found: Counter[tuple[str, str, str, bool]] = Counter()
    for setting, kind in ((setting, kind) for setting in SETTINGS for kind in FACET_OF):
        answers = pl.read_parquet(folder / f"multifacet_{setting}_{kind}.parquet")
        rows = answers.join(asked.filter(type=kind), on=["form", "knowledge_point"])
        for row in rows.iter_rows(named=True) if "extracted" in rows.columns else ():
            responses = row["raw_responses"] if setting == "cot" else [row["raw_response"]]
            extracted = list(row["extracted"] or "-") if setting == "cot" else [row["extracted"]]
            models = "developed on" if row["model"] in DEVELOPED_ON else "held out"
            for response, theirs in zip(responses, extracted, strict=False):
                # "-" and "?|" hold nothing; the authors complete "T|?" with the offered letter.
                theirs = f"T|{row['offered']}" if theirs == "T|?" else theirs
                if theirs not in (None, "-", "?|", ""):
                    ours = read_answer(kind, response, row["options"] or (), row["offered"], row["question"])
                    found[setting, kind, models, theirs == (ours.answer or ours.fragment)] += 1
    return found


def write_published_edition(folder: Path, root: Path) -> str:
    """Write the published items as a complete edition, and return its name."""
    described = [
        {
            "question_id": identify_question(row),
            "point_id": hash_text("published", row["split"], str(row["knowledge_point"])),
            "relation": "medqa",
            "split": "test" if row["split"] == "test" else "demonstration",
            "facet": FACET_OF[row["type"]],
            "type": row["type"],
            "is_negated": row["form"].endswith("negated"),
            "options": row["options"] or [],
            "answer": row["label"],
            "source": "MultifacetEval",
            **{name: row[name] for name in ("text", "offered")},
        }
        for row in read_questions(folder)
    ]
    frame = pl.DataFrame(described, QUESTIONS.empty.schema)
    require_valid(validate_stage(QUESTIONS, frame, "the published items"))
    edition_id = f"multimedqa-published-{hash_json(frame['question_id'].sort().to_list(), digits=8)}"
    ref = write_stage_file(root, stage_file(edition_id, QUESTIONS.name, "medqa"), frame, QUESTIONS)
    manifest = {"edition_id": edition_id, "kb": "multimedqa", "label": "published", "seed": 0}
    manifest |= dict.fromkeys(("negatives", "pool", "rephraser"), "none") | {"methods": [], "n_pairs": 0}
    manifest |= {"configuration": {"source": "the published items"}, "left_out": []}
    manifest["files"] = list_files([ref], edition_folder(edition_id))
    write_record(root / manifest_file(edition_id), manifest)
    return edition_id


def identify_question(row: Row) -> str:
    """Return the id of a published question. Some texts are published twice, so it has the number."""
    return hash_text(
        "published", row.get("split", "test"), str(row["knowledge_point"]), row["type"], row["form"]
    )


def replay(folder: Path, root: Path, names: Collection[str] = ()) -> dict[tuple[str, str], str]:
    """Import the responses of all models, or of these, and publish; return reports of missing ids.

    The predictions of the authors are imported as responses of a further model.
    """
    edition_id = write_published_edition(folder, root)
    reports: dict[tuple[str, str], str] = {}
    path = root / "responses.parquet"
    for short, setting in SETTINGS.items():
        kinds = {kind: pl.read_parquet(folder / f"multifacet_{short}_{kind}.parquet") for kind in FACET_OF}
        for name in sorted({name for rows in kinds.values() for name in rows["model"]}):
            if names and name not in names:
                continue
            rows = [
                row | {"type": k} for k, frame in kinds.items() for row in frame.filter(model=name).to_dicts()
            ]
            for model in (name, name + AUTHORS):
                _list_responses(rows, is_predicted=model != name).write_parquet(path)
                table = {"name": model, "engine": "imported", "model": str(path), "prompt_style": "chat"}
                config = Config.model_validate({"models": [table], "storage": {"root": root}})
                report = import_responses(config, read_recorded_file(path), edition_id, model, setting).report
                if report.missing:
                    reports[setting, model] = report.render()
    build_warehouse(root)
    return reports


def _list_responses(rows: Sequence[Row], *, is_predicted: bool) -> pl.DataFrame:
    found = []
    for row in rows:
        said = row.get("raw_responses") or [row.get("raw_response")]
        if is_predicted:
            prediction = row["authors_prediction"]
            # Half an RQ is wrong in any case; in words, "T|" would be "True", which names the offered option.
            is_whole = bool(prediction) and not prediction.endswith("|")
            said = [render_answer(row["type"], prediction) if is_whole else ""]
        found += [
            {"question_id": identify_question(row), "repeat": repeat, "response": response}
            for repeat, response in enumerate(said)
        ]
    return pl.DataFrame(found)


def list_scores(root: Path, folder: Path) -> Iterator[Row]:
    """Yield the published scores beside ours, in percent.

    replayed: from the authors' predictions; it should be `from_processed` exactly. strict: from the raw
    responses. Where the authors find no answer, they draw one; sd_of_fill is the deviation of these draws.
    """
    found = {
        tuple(key): values for *key, values in ((*row[:3], row[3:]) for row in run_query(root, SCORES)[1])
    }
    for row in pl.read_csv(folder / "multifacet_scores.csv").iter_rows(named=True):
        key = SETTINGS[row["setting"]], row["model"], row["type"]
        if key in found:
            replayed = found[key[0], row["model"] + AUTHORS, key[2]][0]
            ours = dict(zip(("replayed", "strict", "no_answer"), (replayed, *found[key]), strict=True))
            theirs = {name: row[name] for name in ("published", "sd_of_fill", "from_processed")}
            yield dict(zip(("setting", "model", "type"), key, strict=True)) | theirs | ours


def list_mastered(root: Path, folder: Path) -> Iterator[tuple[str, str, bool, list[int], list[int]]]:
    """Yield (setting, model, is_negated_included, ours, published) from the predictions of the authors."""
    found = {tuple(key): counts for *key, counts in run_query(root, MASTERED)[1]}
    for row in pl.read_csv(folder / "multifacet_mastered.csv").filter(align="id").iter_rows(named=True):
        key = SETTINGS[row["setting"]], row["model"] + AUTHORS, row["negated_questions"] == "yes"
        published = [row[step] for step in STEPS if row[step] is not None]
        if key in found:
            yield key[0], row["model"], key[2], found[key][: len(published)], published


def main(arguments: Sequence[str]) -> None:
    """Print the three comparisons, and the ids that did not fit."""
    parser = build_parser("replay", __doc__)
    parser.add_argument("--synonyms", type=Path, help="write the table of synonyms as CSV, and end")
    options, folder = parser.parse_args(arguments), find_reference()
    if options.synonyms:
        derive_synonyms(read_questions(folder)).write_csv(options.synonyms)
        return
    reasons, compared = compare_questions(folder)
    print(
        *(f"{count:4} items of MedQA are not turned: {reason}" for reason, count in reasons.items()), sep="\n"
    )
    rows = []
    for kind, form in dict.fromkeys(each[:2] for each in compared):
        flags = [each[2:] for each in compared if each[:2] == (kind, form)]
        rows.append([kind, form, str(len(flags)), *(str(sum(column)) for column in zip(*flags, strict=True))])
    print(align(["type", "form", "questions", "same text", "same answer"], rows), end="\n\n")
    counts, rows = compare_extraction(folder), []
    for group in dict.fromkeys(each[:3] for each in counts):
        n_same, n_other = counts[*group, True], counts[*group, False]
        rows.append([*group, str(n_same + n_other), f"{n_same / (n_same + n_other):.2%}"])
    print(align(["setting", "type", "models", "found", "agree"], rows), end="\n\n", flush=True)
    with tempfile.TemporaryDirectory(prefix="pretexeval-replay-") as name:
        reports = replay(folder, Path(name))
        scores, mastered = list(list_scores(Path(name), folder)), list(list_mastered(Path(name), folder))
    cells = [[f"{x:.4f}" if isinstance(x, float) else str(x) for x in row.values()] for row in scores]
    print(align(list(scores[0]), cells), end="\n\n")
    print(
        align(
            ["setting", "model", "negated", "mastered", "published"],
            [list(map(str, row)) for row in mastered],
        )
    )
    for (setting, model), report in reports.items():
        print(f"\n{setting}, {model}\n{report}")
