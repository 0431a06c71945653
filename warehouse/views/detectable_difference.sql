-- Grain: one row per edition, method, scoring policy, repeat, model and other model (null: any).
-- The smallest true difference that the edition would detect with a power of 80 %, at α = 0.05
-- two-sided: (z₀.₉₇₅ + z₀.₈) · se = 2.8016 · se (minimum detectable effect; Bloom 1995), se being
-- that of the difference observed: a half-width of its 95 % interval / z₀.₉₇₅, which is never 0.
-- Of two models: paired, from model_comparison. Of one model alone, against any other: an upper
-- bound, se = √2 times its own (another as variable, whose answers have nothing to do with its own;
-- answers to the same questions mostly go together, and less is then enough).
create or replace view detectable_difference as
with widths as (
    select
        edition_id,
        method,
        scoring_policy,
        repeat,
        model_id,
        model,
        n_pairs,
        n_complete_pairs,
        sqrt(2) * (ci_high - ci_low) as average_width,
        sqrt(2) * (mastery_ci_high - mastery_ci_low) as mastery_width
    from leaderboard
    union all by name
    select
        edition_id,
        method,
        scoring_policy,
        repeat,
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
    edition_id,
    method,
    scoring_policy,
    repeat,
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
order by
    edition_id,
    method,
    scoring_policy,
    repeat,
    model,
    model_id,
    other_model nulls first,
    other_model_id
