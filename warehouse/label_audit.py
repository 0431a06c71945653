"""Estimate how likely the label of a test triplet is wrong, from the answers of three models or more.

If the labels of a pair are exchanged, the answers to its two triplets are exchanged. So the answers to the
other pairs show what those to a wrong label look like, and no label needs to be known to be wrong. An answer
is 1 if it affirms the triplet, −1 if it denies it, and 0 if there is none. Two logistic regressions with a
share of wrong labels (Bootkrajang and Kabán 2012) weigh the models and forms:

- exchanged labels: from the difference of both triplets, because what a model says of facts that it does not
  know cancels there. The mirror image of the pairs with right labels are the pairs with exchanged ones.
- a single wrong label: from the answers to the triplet alone. A model that affirms what it does not know
  affirms false triplets as if they were true, so only models count that tell most pairs apart.

The weights are fitted jointly, so that models and forms that repeat each other do not count twice. The share
of wrong labels is the share of labels that are contradicted even where the evidence should be strong. This
holds only if models that know a fact do not mistake it. So an error that all models share counts as a wrong
label until people have judged such labels. docs/statistics.md says what this does not claim.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import duckdb
import numpy as np
import polars as pl
from scipy.optimize import minimize
from scipy.special import expit, softmax

from pretexeval.statistics.clusters import Floats
from schemas.columns import SCORING_POLICIES
from warehouse.evaluations import Evaluation, Flags, Pairs

MIN_MODELS = 3
MIN_ANSWERED = 0.75
"""Share of the samples of a triplet that a model must have answered; and of its answers that contradict."""
MIN_TOLD = 0.6
"""Share of the pairs that a model must tell apart to count for a single wrong label.

If models affirm what they do not know, and the same statements, 2 % of right labels seem wrong at a share of
0.57, and 8 % at 0.4.
"""
MIN_WEIGHT = 0.5
"""Log-odds of exchanged labels by all answers of a model, below which it tells nothing."""
MAX_WRONG = 0.25
"""Limit of the share of wrong labels."""
PRIOR_WRONG, PRIOR_RIGHT = 1, 49
"""Labels by which the share of wrong ones is drawn to 2 %."""
RIDGE = 1.0
SPREAD_RIDGE = 10.0
"""Penalty of unequal weights of the forms of a model. Without it, one that is right by chance would outweigh
all others in a small edition."""
VERDICTS = """
select pair_id, is_positive, sum(case
    when verdict = 'undecided' then 0
    when verdict = if(is_positive, 'also_false', 'also_true') then 1
    else -1
end) as n_contradicting
from human_verdicts
inner join triplets using (edition_id, triplet_id)
where edition_id = $edition_id and question = 'label'
group by pair_id, is_positive
"""
UNLEARNED = """
select pair_id
from storage.taught_pairs
where edition_id = $edition_id and model_id = $model_id and not is_known
"""
COLUMNS = {
    "n_models": "bigint",
    "n_contradicting": "bigint",
    "is_contradicted_by_all": "boolean",
    "wrong_probability": "double",
}
"""The columns that the audit adds to the table triplets, with their types in SQL."""
SCHEMA = {
    "edition_id": pl.String,
    "pair_id": pl.String,
    "is_positive": pl.Boolean,
    "n_models": pl.Int64,
    "n_contradicting": pl.Int64,
    "is_contradicted_by_all": pl.Boolean,
    "wrong_probability": pl.Float64,
}
RIGHT, EXCHANGED, POSITIVE_WRONG, NEGATIVE_WRONG = range(4)
"""The states of the labels of a pair."""


@dataclass(frozen=True)
class Regression:
    """A logistic regression in which a share of the labels is wrong."""

    weights: Floats
    intercept: float
    wrong: Floats
    """The share of wrong labels, or those among true and among false triplets."""


def choose_evaluation(evaluations: Sequence[Evaluation]) -> Evaluation | None:
    """Return the first answers of a model by the method PretexEval; None without any."""
    counted = [
        own
        for own in evaluations
        if own.key["method"] == "pretexeval" and own.key["period"] is None and own.key["repeat"] == 0
    ]
    return min(counted, key=lambda own: SCORING_POLICIES.index(own.key["scoring_policy"]), default=None)


def audit_edition(connection: duckdb.DuckDBPyConnection, evaluations: Sequence[Evaluation]) -> pl.DataFrame:
    """Return one row per triplet with answers of MIN_MODELS models; SCHEMA.

    Args:
        evaluations: one of each model. Answers of a reference model count only about heads that it learned.
    """
    if len(evaluations) < MIN_MODELS:
        return pl.DataFrame(schema=SCHEMA)
    pairs, cubes = evaluations[0].pairs, []
    for own in evaluations:
        affirmed = read_affirmations(own)
        asked = {name: own.key[name] for name in ("edition_id", "model_id")}
        unlearned = connection.sql(UNLEARNED, params=asked).pl().join(pairs.frame, on="pair_id", how="semi")
        affirmed[pairs.find(unlearned["pair_id"])] = 0
        cubes.append(affirmed)
    verdicts = connection.sql(VERDICTS, params={"edition_id": pairs.edition_id}).pl()
    return audit_labels(pairs, np.stack(cubes, axis=2), place_verdicts(pairs, verdicts))


def read_affirmations(evaluation: Evaluation) -> Floats:
    """Return 1 for an answer that affirms the triplet, −1 for a denial, 0 for none. Shape (pairs, 2, k).

    Only pairs count that were asked in full; with `ask = "enough"` that is a random tenth. The others stop at
    the first wrong answer, so those with most answers agree with their labels, and the share of wrong labels
    would be too low.
    """
    has_answer = evaluation.asked & ~evaluation.failed & ~evaluation.unanswered
    has_answer &= evaluation.decision.is_in_full[:, None, None]
    return np.asarray(np.where(evaluation.affirms, 1.0, -1.0) * has_answer)


def place_verdicts(pairs: Pairs, verdicts: pl.DataFrame) -> Floats:
    """Return 1 for a label that most reviewers call wrong, 0 for a right one, else nan. Shape (pairs, 2)."""
    judged = np.full((len(pairs.heads), 2), np.nan)
    known = verdicts.join(pairs.frame, on="pair_id", how="semi").filter(pl.col("n_contradicting") != 0)
    side = 1 - known["is_positive"].to_numpy().astype(int)
    judged[pairs.find(known["pair_id"]), side] = known["n_contradicting"].to_numpy() > 0
    return judged


def audit_labels(pairs: Pairs, affirmed: Floats, judged: Floats) -> pl.DataFrame:
    """Return one row per triplet with answers of MIN_MODELS models; SCHEMA.

    Args:
        affirmed: the answers. Shape (pairs, 2, models, k).
        judged: what people said of the labels (place_verdicts). Shape (pairs, 2).
    """
    n_answers = np.abs(affirmed).sum(3)
    has_answers = n_answers >= MIN_ANSWERED * affirmed.shape[3]
    is_audited = has_answers.sum(2) >= MIN_MODELS
    if not is_audited.any():
        return pl.DataFrame(schema=SCHEMA)
    counted = affirmed * has_answers[..., None]
    contradicted, weights = estimate_contradictions(counted, is_audited)
    agreeing = counted.sum(3) * np.array([1, -1])[:, None]
    is_contradicting = has_answers & (agreeing <= (1 - 2 * MIN_ANSWERED) * n_answers)
    tells = has_answers & (weights >= MIN_WEIGHT)
    by_all = (tells.sum(2) >= 2) & (is_contradicting | ~tells).all(2)
    sides, ids = np.broadcast_to([True, False], is_audited.shape), pairs.frame["pair_id"].to_numpy()
    columns = {
        "edition_id": [pairs.edition_id] * int(is_audited.sum()),
        "pair_id": np.repeat(ids, 2)[is_audited.ravel()],
        "is_positive": sides[is_audited],
        "n_models": has_answers.sum(2)[is_audited],
        "n_contradicting": is_contradicting.sum(2)[is_audited],
        "is_contradicted_by_all": by_all[is_audited],
        "wrong_probability": calibrate(contradicted, judged)[is_audited],
    }
    return pl.DataFrame(columns).cast(pl.Schema(SCHEMA))


def estimate_contradictions(affirmed: Floats, is_audited: Flags) -> tuple[Floats, Floats]:
    """Return the probability that the models contradict each label for a reason, and their weights.

    The reason is a wrong label, or an error that they share. Shapes (pairs, 2) and (models,).
    """
    n_pairs, _, n_models, _ = affirmed.shape
    difference = (affirmed[:, 0] - affirmed[:, 1]) / 2
    is_whole = is_audited.all(1)
    exchanged = fit_regression(difference[is_whole], np.ones(int(is_whole.sum())), n_shares=1)
    log_odds = np.full((n_pairs, 4), -np.inf)
    evidence = difference.reshape(n_pairs, -1) @ exchanged.weights
    log_odds[:, EXCHANGED] = np.log(exchanged.wrong[0]) - evidence
    single = np.zeros(2)
    if (tells := find_knowledgeable(affirmed)).sum() >= MIN_MODELS:
        answers = affirmed[:, :, tells]
        label = np.broadcast_to([1.0, -1.0], (n_pairs, 2))
        fitted = fit_regression(answers[is_audited], label[is_audited], n_shares=2)
        agreement = (answers.reshape(n_pairs, 2, -1) @ fitted.weights + fitted.intercept) * label
        # An exchange is two wrong labels.
        least = PRIOR_WRONG / (PRIOR_WRONG + PRIOR_RIGHT + n_pairs)
        single = np.maximum(fitted.wrong - exchanged.wrong, least)
        # Models that mistake the twin would mistake this triplet too, so that tells less of its label.
        log_odds[:, POSITIVE_WRONG:] = np.log(single) - agreement - np.maximum(-agreement[:, ::-1], 0)
    log_odds[:, RIGHT] = np.log(1 - exchanged.wrong[0] - single.sum())
    probability = softmax(log_odds, axis=1)
    contradicted = probability[:, EXCHANGED, None] + probability[:, POSITIVE_WRONG:]
    return contradicted, exchanged.weights.reshape(n_models, -1).sum(1)


def find_knowledgeable(affirmed: Floats) -> Flags:
    """Return which models tell MIN_TOLD of the pairs apart, less those that they mistake. Shape (models,)."""
    leaning = affirmed.sum(3) * np.array([1, -1])[:, None]
    is_answered = (np.abs(affirmed).sum(3) > 0).all(1)
    told = (leaning > 0).all(1).sum(0) - (leaning < 0).all(1).sum(0)
    return np.asarray(told >= MIN_TOLD * np.maximum(is_answered.sum(0), 1))


def fit_regression(answers: Floats, label: Floats, n_shares: int) -> Regression:
    """Return the weights, none below 0, and the shares of wrong labels.

    The penalty makes the weights too small, so a second regression finds how large they are together.

    Args:
        answers: shape (rows, models, k).
        label: 1 or −1. Shape (rows,).
        n_shares: 1 without an intercept; 2 with one, and a share of each label.
    """
    weights = _fit(answers, label, n_shares).weights
    evidence = answers.reshape(len(label), -1) @ weights
    scaled = _fit(evidence[:, None, None], label, n_shares)
    return Regression(scaled.weights * weights, scaled.intercept, scaled.wrong)


def _fit(answers: Floats, label: Floats, n_shares: int) -> Regression:
    """Return the most likely weights and shares.

    The probability of a label y is (1 − π) σ(yz) + π σ(−yz), where z = b + w·answers. A penalty of
    RIDGE/2 · |w̄|² + SPREAD_RIDGE/2 · |w − w̄|² bounds them where no label is contradicted; w̄ has the means of
    the weights of each model.
    """
    n_models = answers.shape[1]
    signed = answers.reshape(len(label), -1) * label[:, None]
    n_features = signed.shape[1]
    side = np.zeros(len(label), int) if n_shares == 1 else (label < 0).astype(int)
    slope = label * (n_shares - 1)

    def measure(values: Floats) -> tuple[float, Floats]:
        """Return the negative penalised log-likelihood, and its gradient."""
        weights, intercept, logits = np.split(values, [n_features, n_features + 1])
        wrong = MAX_WRONG * expit(logits)
        own = wrong[side]
        right = expit(signed @ weights + intercept * slope)
        likelihood = np.maximum((1 - own) * right + own * (1 - right), 1e-300)
        of_evidence = (1 - 2 * own) * right * (1 - right) / likelihood
        of_shares = np.bincount(side, (1 - 2 * right) / likelihood, n_shares)
        of_shares += PRIOR_WRONG / wrong - PRIOR_RIGHT / (1 - wrong)
        mean = np.repeat(weights.reshape(n_models, -1).mean(1), n_features // n_models)
        penalty = RIDGE * mean + SPREAD_RIDGE * (weights - mean)
        loss = penalty @ weights / 2 - np.log(likelihood).sum()
        loss -= (PRIOR_WRONG * np.log(wrong) + PRIOR_RIGHT * np.log1p(-wrong)).sum()
        gradient = [
            penalty - signed.T @ of_evidence,
            [-(of_evidence @ slope)],
            -of_shares * wrong * (1 - wrong / MAX_WRONG),
        ]
        return float(loss), np.concatenate(gradient)

    start = PRIOR_WRONG / (PRIOR_WRONG + PRIOR_RIGHT) / MAX_WRONG
    first = [*np.full(n_features, 2 / n_features), 0.0, *np.full(n_shares, np.log(start / (1 - start)))]
    bounds = [(0, None)] * n_features + [(None, None)] + [(-12, 12)] * n_shares
    found = minimize(measure, first, jac=True, bounds=bounds, method="L-BFGS-B", options={"maxiter": 300}).x
    weights, intercept, logits = np.split(found, [n_features, n_features + 1])
    return Regression(weights, float(intercept[0]), MAX_WRONG * expit(logits))


def calibrate(contradicted: Floats, judged: Floats) -> Floats:
    """Return the probability that a label is wrong: 0 or 1 where people judged it.

    Their verdicts estimate the share s of shared errors among the contradictions: a label with the
    probability c of one is wrong with the probability (1 − s)c. Without a verdict, s is 0. The estimate has
    the weight of one more label that is wrong.
    """
    known = ~np.isnan(judged)
    shares = np.linspace(0, 0.99, 100)
    wrong = np.clip(np.outer(1 - shares, contradicted[known]), 1e-9, 1 - 1e-9)
    likelihood = np.log(np.where(judged[known] == 1, wrong, 1 - wrong)).sum(1) + np.log1p(-shares)
    share = shares[np.argmax(likelihood)]
    return np.where(known, judged, (1 - share) * contradicted)


def insert_audit(connection: duckdb.DuckDBPyConnection, rows: pl.DataFrame) -> None:
    """Write the columns of the audit into the table triplets."""
    connection.register("audited", rows.to_arrow())
    values = ", ".join(f"{name} = audited.{name}" for name in COLUMNS)
    connection.execute(
        f"update triplets set {values} from audited where triplets.split = 'test' and triplets.edition_id = "
        "audited.edition_id and triplets.pair_id = audited.pair_id "
        "and triplets.is_positive = audited.is_positive"
    )
    connection.unregister("audited")
