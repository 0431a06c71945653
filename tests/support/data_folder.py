"""A small data folder on disk in the layout of the pipeline: editions, and models that answer by a rule."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

from pretexeval.storage.records import write_record
from schemas.stages import ATTEMPTS, SAMPLES, TRIPLETS
from schemas.transformations import TRANSFORMATIONS
from tests.support.stage_rows import (
    Row,
    describe_file,
    digest,
    response_row,
    write_evaluation,
    write_responses,
    write_rows,
)
from warehouse.query import read_rows

# The answer of a model to a sample (with the columns of its triplet); None is no answer.
Rule = Callable[[Row], bool | None]
# Why the prompt of a sample failed; None if it has a response.
Fail = Callable[[Row], str | None]
# The log-probabilities of True and False.
Weigh = Callable[[Row], tuple[float | None, float | None]]
Change = Callable[[list[Row], list[Row], list[Row]], None]

# What a manifest says of the negatives of a relation (tasks/edition/risks.py).
RISKS: Row = {
    "n_pairs": 100,
    "n_left_out": 2,
    "tail_rate": 0.5,
    "guessable_rate": 0.53,
    "n_tried": 98,
    "n_wrong": 1,
    "missing_share": 0.5,
    "wrong_rate": 0.0102,
    "is_balanced": True,
}


def fail_response(error: str) -> Row:
    """Return what is different in the row of a response that is an error."""
    return {"response": None, "status": "error", "error": error, "logprob_true": None, "logprob_false": None}


def judge(sample: Row, answer: bool | None, error: str | None, policy: str) -> Row:
    """Score an answer under a policy; the coin of coin-flip always shows True."""
    is_open = answer is None and policy == "excluded"
    said = True if answer is None and policy == "coin-flip" else answer
    return {
        "scoring_policy": policy,
        "prediction": name_truth(answer),
        "is_correct": None if error or is_open else said == sample["label"],
        "n_answers": int(answer is not None),
        "n_agreeing": int(answer is not None),
        "error": error,
    }


def name_truth(answer: bool | None) -> str | None:
    return None if answer is None else str(answer)[0]


@dataclass
class DataFolder:
    """A data folder that tests fill; a pair is (relation, head, true tail, false tail, split)."""

    root: Path
    pairs: list[tuple[str, str, str, str, str]] = field(default_factory=list)
    usable_lines: dict[str, int] = field(default_factory=dict)
    wording: str = ""
    """A prefix of every text, so that another edition of the same pairs has other texts."""
    wordings: dict[str, str] = field(default_factory=dict)
    """Head -> a prefix of its texts, in place of `wording`."""
    parts: dict[tuple[str, str], Path] = field(default_factory=dict)
    """(name, model) -> the file of responses that was written under this name."""
    label: str = "seed1"
    seed: int = 1
    asserted: set[str] = field(default_factory=set)
    """The heads whose false triplet the base asserts to be false."""
    ages: dict[str, str] = field(default_factory=dict)
    """Head -> the first release of its true triplet."""
    releases: tuple[str, ...] = ()
    """The releases that give facts their ages, the oldest first."""
    commonness: dict[str, float] = field(default_factory=dict)
    """Head -> the commonness of its tails; 0 by default."""

    def add_pair(self, relation: str, head: str, true: str, false: str, split: str = "test") -> None:
        self.pairs.append((relation, head, true, false, split))

    def add_pairs(self, relation: str, n: int) -> None:
        """Add n pairs whose tails are each true once and false once, and whose names share no word."""
        for k in range(n):
            self.add_pair(relation, f"head{k}", f"tail{k}", f"tail{(k + 1) % n}")

    def triplets(self) -> list[Row]:
        tested = [pair for pair in self.pairs if pair[4] == "test"]
        of_heads = Counter(head.lower() for _, head, *_ in tested)
        of_tails = Counter((relation, tail.lower()) for relation, _, tail, *_ in tested)
        return [
            {
                "triplet_id": digest(relation, head, tail, is_positive),
                "pair_id": digest(relation, head),
                "relation": relation,
                "head": head,
                "tail": tail,
                "head_id": None,
                "tail_id": None,
                "is_positive": is_positive,
                "split": split,
                "head_frequency": of_heads[head.lower()],
                "tail_frequency": of_tails[relation, tail.lower()],
                "tail_commonness": self.commonness.get(head, 0.0),
            }
            | ({"is_asserted": None if is_positive else True} if head in self.asserted else {})
            | ({"first_release": self.ages.get(head)} if self.ages and is_positive else {})
            for relation, head, true, false, split in self.pairs
            for tail, is_positive in ((true, True), (false, False))
        ]

    def samples(self, method: str) -> list[Row]:
        """Return the samples of a method, each with the columns of its triplet."""
        rows = []
        for triplet in self.triplets():
            for k, t in enumerate(TRANSFORMATIONS):
                is_negated = t.is_negated and method != "llmeval"
                if (method == "direct" and k) or k >= self.usable_lines.get(triplet["head"], 8):
                    continue
                wording = self.wordings.get(triplet["head"], self.wording)
                text = f"{wording}{method}: {triplet['head']} {t.name} {triplet['tail']}"
                rows.append(
                    triplet
                    | {
                        "sample_id": digest(text, triplet["relation"]),
                        "method": method,
                        "variant_id": None if method == "llmeval" else digest("v", text),
                        "transformation": None if method == "llmeval" else t.name,
                        "sample_index": k,
                        "text": text,
                        "label": triplet["is_positive"] != is_negated,
                        "rephraser": "reviewed",
                        "status": "accepted",
                        "attempts": 1,
                        "reasons": [],
                    }
                )
        return rows

    def write_edition(
        self,
        edition_id: str,
        methods: tuple[str, ...] = ("pretexeval",),
        *,
        attempts: list[Row] | None = None,
        knowledge: dict[str, str] | None = None,
        balance: dict[str, Row] | None = None,
        wrong_texts: Row | None = None,
    ) -> None:
        """Write an edition; its risks are those of RISKS in every relation by default."""
        folder = self.root / "editions" / edition_id
        stages = {
            TRIPLETS: self.triplets(),
            SAMPLES: [row for method in methods for row in self.samples(method)],
            ATTEMPTS: attempts or [],
        }
        files: dict[str, Row] = {}
        for stage, rows in stages.items():
            for relation in sorted({row["relation"] for row in rows}):
                chosen = [row for row in rows if row["relation"] == relation]
                name = f"{stage.name}/{relation}.parquet"
                write_rows(folder / name, stage, chosen)
                files[name] = describe_file(folder / name, len(chosen))
        write_record(
            folder / "manifest.json",
            {
                "edition_id": edition_id,
                "kb": "starter",
                "label": self.label,
                "seed": self.seed,
                "negatives": "balanced",
                "pool": "revised",
                "rephraser": "reviewed",
                "methods": list(methods),
                "n_pairs": len(self.pairs),
                "balance": {pair[0]: RISKS for pair in self.pairs} if balance is None else balance,
                "wrong_texts": wrong_texts,
                "files": files,
                "configuration": {
                    "edition": {"seed": self.seed},
                    "knowledge": knowledge or {},
                    "rephraser": {},
                    **({"releases": {"names": list(self.releases)}} if self.releases else {}),
                },
            },
        )

    def write_model(
        self,
        model_id: str,
        known_heads: list[Row] | None = None,
        taught_base: Row | None = None,
        training_cutoff: str | None = None,
    ) -> None:
        write_record(
            self.root / "responses" / model_id / "model.json",
            {
                "model_id": model_id,
                "name": model_id.title(),
                "engine": "openai",
                "identity": {"weights": digest(model_id)},
                "known_heads": known_heads,
                "taught_base": taught_base,
                "training_cutoff": training_cutoff,
            },
        )

    def provide_model(self, model_id: str) -> None:
        """Write the record of a model that has none."""
        if not (self.root / "responses" / model_id / "model.json").exists():
            self.write_model(model_id)

    def write_answers(
        self,
        edition_id: str,
        model_id: str,
        rule: Rule,
        *,
        methods: tuple[str, ...] = ("pretexeval",),
        policies: tuple[str, ...] = ("strict",),
        weigh: Weigh = lambda _: (-0.1, -2.5),
        fail: Fail = lambda _: None,
        max_error_rate: float = 0.01,
        n_repeats: int = 1,
        change: Change = lambda *_: None,
    ) -> None:
        """Let the model answer every test sample by its rule, and score the answers under every policy.

        A model without a record gets one.

        Args:
            n_repeats: how often it gives each answer.
            change: changes the responses, the requests with their readings, and the predictions.
        """
        self.provide_model(model_id)
        responses: dict[str, Row] = {}
        requests, predictions = [], []
        tested = [row for method in methods for row in self.samples(method) if row["split"] == "test"]
        for repeat, sample in product(range(n_repeats), tested):
            error = fail(sample)
            answer = None if error else rule(sample)
            prompt_key = digest(model_id, sample["text"], *([repeat] if repeat else []), n=32)
            asked = {
                "item_id": sample["sample_id"],
                "model_id": model_id,
                "prompt_key": prompt_key,
                "repeat": repeat,
                "relation": sample["relation"],
            }
            logprobs = dict(zip(("logprob_true", "logprob_false"), weigh(sample), strict=True))
            response = response_row(model_id, prompt_key, sample["text"], answer)
            responses[prompt_key] = response | (logprobs if error is None else fail_response(error))
            read = {"answer": name_truth(answer), "rule": "leading_word" if answer is not None else None}
            requests.append(asked | {"n_demonstrations_dropped": 0} | read | {"error": error})
            predictions += [asked | judge(sample, answer, error, policy) for policy in policies]
        given = list(responses.values())
        change(given, requests, predictions)
        self.write_responses(edition_id, model_id, given)
        folder = self.root / "predictions" / edition_id / model_id
        write_evaluation(folder, edition_id, requests, predictions, max_error_rate)

    def write_responses(self, name: str, model_id: str, responses: list[Row]) -> Path:
        """Write the responses of a model under a name, which replaces those of this name."""
        if (before := self.parts.get((name, model_id))) is not None:
            before.unlink(missing_ok=True)
        path = self.parts[name, model_id] = write_responses(self.root, model_id, responses)
        return path

    def query(self, sql: str) -> list[Row]:
        """Return the rows of a query on the published warehouse, each as a dictionary."""
        return read_rows(self.root, sql)


def expert(sample: Row) -> bool | None:
    """Answer everything right."""
    return bool(sample["label"])


def always_true(sample: Row) -> bool | None:
    return True


def polarity(sample: Row) -> bool | None:
    """Answer True to what is affirmed and False to what is denied."""
    return bool(sample["label"] == sample["is_positive"])


def denial(sample: Row) -> bool | None:
    """Answer False to what is affirmed and True to what is denied."""
    return bool(sample["label"] != sample["is_positive"])


def silent(sample: Row) -> bool | None:
    return None


def erratic(sample: Row) -> bool | None:
    """Answer three samples in four right and one in ten not at all, by the hash of the text."""
    draw = int(digest("erratic", sample["text"]), 16) % 100
    if draw < 10:
        return None
    return bool(sample["label"]) if draw < 85 else not sample["label"]
