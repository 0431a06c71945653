-- Grain: one row per edition, setting, model, scoring policy, facet and is_negated (null: all of its questions).
-- How well a model answers the questions of a facet; each facet has one type of question.
-- accuracy: of MCQ, MAQ and TFQ, the share of the graded questions that are right (MAQ: all right options and no
-- other). Of RQ, the mean over the points of the debiased accuracy acc(right option offered)/n + acc(wrong option
-- offered) · (n − 1)/n with n options (MultifacetEval, section 4): a model that agrees with everything gets 1/n
-- there. Points of which only one kind of offer is graded are left out of it. right_offer_accuracy,
-- wrong_offer_accuracy: its two accuracies, over all graded questions; null for other types. share_right: the
-- share of the graded questions that are right, which for RQ is biased.
-- random_baseline: the accuracy of random answers, 1/n, 1/n, 1/(2ⁿ − 1) and 1/2, over the edition's questions.
-- ci_low, ci_high: 95 % interval for new facts like these: the questions of a point are correlated, and so are
-- points that share a head or, where the point has a pair, a tail. fixed_base_ci_low, …: only points are clusters
-- (estimate_shares). n_effective: the effective number of heads or tails. Below 20, ci_low and ci_high are only a
-- rough guide.
-- n_questions: graded questions; n_points: the points that accuracy counts. no_answer_rate: of the questions with
-- a response, those of which no repeat has an answer. unfinished_reasoning_rate: the part of it in which the model
-- was still thinking in a repeat when its tokens were used up. error_rate: of the asked ones, those without a
-- response.
create or replace view facet_accuracy as
select
    edition_id,
    setting,
    model_id,
    model,
    scoring_policy,
    facet,
    type,
    is_negated,
    n_questions,
    n_points,
    accuracy,
    ci_low,
    ci_high,
    fixed_base_ci_low,
    fixed_base_ci_high,
    n_effective,
    random_baseline,
    right_offer_accuracy,
    wrong_offer_accuracy,
    share_right,
    no_answer_rate,
    unfinished_reasoning_rate,
    n_errors,
    error_rate
from facet_scores
