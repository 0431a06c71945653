-- Grain: one row per edition, model, method, scoring policy, repeat and is_positive.
-- True facts against their false twins. average_accuracy counts the samples of one of the two. affirmed_rate: the share
-- of the answers that affirm the fact: True to a statement of it, or False to its denial. If a model denies every fact
-- that it does not know, it is low for both, although true_rate is near a half.
-- Stability of a fact over its forms: disagreement_rate is the share of complete triplets that a model judges rightly in
-- some forms and wrongly in others; probability_range is the mean, over the triplets, of the largest minus the smallest
-- probability of affirming it, where the log-probabilities of True and False are known.
create or replace view accuracy_of_facts as
select
    edition_id, model_id, model, method, scoring_policy, repeat,
    group_name = 'true fact' as is_positive,
    average_accuracy, average_accuracy_ci_low, average_accuracy_ci_high,
    affirmed_rate,
    1 - consistency as disagreement_rate,
    probability_range,
    n_samples,
    n_pairs,
    n_triplets,
    n_effective,
    no_answer_rate,
    unfinished_reasoning_rate,
    n_errors,
    error_rate
from part_scores
where grouping_by = 'fact'
order by edition_id, model, model_id, method, scoring_policy, repeat, is_positive desc
