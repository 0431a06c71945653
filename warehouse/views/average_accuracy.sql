-- Grain: one row per edition, model, method, scoring policy and repeat.
-- average_accuracy: mean of s(i,j) over all samples (method, section 4; PretexEval). The other columns are those of
-- the leaderboard.
create or replace view average_accuracy as
with scored as (
    select *, 'all' as part
    from pair_scores
)

select
    edition_id, model_id, model, method, scoring_policy, repeat,
    n_samples,
    n_pairs,
    average_accuracy, ci_low, ci_high,
    fixed_base_ci_low,
    fixed_base_ci_high,
    n_effective,
    average_accuracy - 0.5 as gain_over_random,
    no_answer_rate,
    unfinished_reasoning_rate,
    true_rate,
    n_errors,
    error_rate
from measure_scores('scored', measures := ['average'])
order by edition_id, model, model_id, method, scoring_policy, repeat
