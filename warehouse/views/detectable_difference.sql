-- Grain: one row per edition, method, scoring policy, repeat, model and other model (null: any).
-- The smallest true difference that the edition would detect with a power of 80 % at α = 0.05 two-sided,
-- from the width of the observed 95 % interval, which is never 0 (macros.sql, detectable).
-- For two models, the interval is that of the paired difference in model_comparison. For one model alone
-- against any other, the standard error is √2 times its own. That is an upper bound: it assumes that the
-- other model varies as much and answers independently, but answers to the same questions are mostly
-- correlated.
create or replace view detectable_difference as
with widths as (
    select
        edition_id, method, scoring_policy, repeat,
        model_id,
        model,
        n_pairs,
        n_complete_pairs,
        sqrt(2) * (average_accuracy_ci_high - average_accuracy_ci_low) as average_width,
        sqrt(2) * (mastery_ci_high - mastery_ci_low) as mastery_width
    from leaderboard
    union all by name
    select
        edition_id, method, scoring_policy, repeat,
        model_id,
        model,
        other_model_id,
        other_model,
        n_pairs,
        n_complete_pairs,
        difference_ci_high - difference_ci_low as average_width,
        mastery_difference_ci_high - mastery_difference_ci_low as mastery_width
    from model_comparison
)

select
    edition_id, method, scoring_policy, repeat,
    model_id,
    model,
    other_model_id,
    other_model,
    n_pairs,
    n_complete_pairs,
    detectable(average_width) as detectable_difference,
    detectable(mastery_width) as detectable_mastery_difference
from widths
where average_width is not null
order by edition_id, method, scoring_policy, repeat, model, model_id, other_model nulls first, other_model_id
