-- Grain: one row per edition, model, method, scoring policy, repeat and is_asserted.
-- is_asserted: whether the base asserts that the pair's false triplet is false (`also_false`). Otherwise it is
-- false because the base does not state it (a closed world). Editions without asserted negatives have one row.
-- The measures of the leaderboard over the samples and pairs of that kind, with the same intervals
-- (leaderboard). negative_accuracy: only over the samples of the false triplets.
create or replace view accuracy_by_negative as
with scored as (
    select pair_scores.*, coalesce(triplets.is_asserted, false) as part
    from pair_scores
    inner join triplets
        on
            pair_scores.edition_id = triplets.edition_id
            and pair_scores.pair_id = triplets.pair_id
            and not triplets.is_positive
)

select
    edition_id, model_id, model, method, scoring_policy, repeat,
    part as is_asserted,
    negative_accuracy,
    n_samples,
    n_pairs,
    average_accuracy, average_accuracy_ci_low, average_accuracy_ci_high,
    n_effective,
    n_complete_pairs,
    mastery, mastery_ci_low, mastery_ci_high,
    no_answer_rate,
    unfinished_reasoning_rate,
    true_rate,
    n_errors,
    error_rate
from measure_scores('scored', measures := ['average', 'mastery'])
order by edition_id, model, model_id, method, scoring_policy, repeat, is_asserted
