-- Grain: one row per edition, model, method, scoring policy, repeat and transformation other than none.
-- What a form of a statement costs: the accuracy under it minus that of the plain form, pair by pair, because the
-- accuracies of the forms themselves vary with the facts and so hide a small difference. Only samples that are
-- graded in both forms count. p_value: two-sided, by the cluster-robust standard error of the difference;
-- holm_p_value: adjusted for the seven forms of the model (Holm 1979), so that a value below 0.05 is an effect.
create or replace view form_effects as
with forms as (
    select
        pair_scores.* replace (
            hash(run, transformation) as run,
            1 as k,
            bit_count(asked_bits & bits)::integer as n_asked,
            bit_count(failed_bits & bits)::integer as n_errors,
            bit_count(unanswered_bits & bits)::integer as n_no_answer,
            (graded_bits >> position) & 257 as graded_bits,
            (correct_bits >> position) & 257 as correct_bits
        ),
        run as whole_run,
        transformation
    from pair_scores
    cross join transformations
    where method in ('pretexeval', 'prototype')
),

matches as (
    select one.*, columns(plain.*) as "other_\0"
    from forms as one
    inner join forms as plain using (whole_run, pair_id)
    where one.transformation <> 'none' and plain.transformation = 'none'
),

compared as (
    select *, two_sided_p(difference, difference_se) as p_value
    from compare_parts('matches')
    where relation is null and measure = 'average_accuracy'
),

ranked as (
    select
        compared.*,
        transformation,
        position,
        count(*) over setting - row_number() over (setting order by p_value, position) + 1 as n_not_smaller
    from compared
    inner join (select distinct run, transformation from forms) as named using (run)
    inner join transformations using (transformation)
    window setting as (partition by edition_id, model_id, method, scoring_policy, repeat)
)

select
    edition_id, model_id, model, method, scoring_policy, repeat,
    transformation,
    difference, difference_ci_low, difference_ci_high,
    p_value,
    max(least(1.0, n_not_smaller * p_value)) over (
        partition by edition_id, model_id, method, scoring_policy, repeat
        order by n_not_smaller desc
    ) as holm_p_value,
    score as average_accuracy, score_ci_low as average_accuracy_ci_low, score_ci_high as average_accuracy_ci_high,
    other_score as plain_accuracy, other_score_ci_low as plain_accuracy_ci_low,
    other_score_ci_high as plain_accuracy_ci_high,
    n_observations as n_samples,
    n_pairs,
    n_effective,
    no_answer_rate,
    error_rate
from ranked
order by edition_id, model, model_id, method, scoring_policy, repeat, position
