-- Grain: one row per edition, model, method, scoring policy, repeat and transformation.
-- average_accuracy: over the samples under the transformation. A model that always says True gets half of each right,
-- and so does a model that answers from the polarity (is_negated) alone. Methods without transformations have no rows.
-- What a form costs: difference is the accuracy under it minus that of the plain form (none), pair by pair, on what is
-- graded in both, because the accuracies of the forms themselves vary with the facts and so hide a small difference.
-- p_value: two-sided, by the cluster-robust standard error of the difference. holm_p_value: adjusted for the other forms
-- of the model (Holm 1979), so that a value below 0.05 is an effect.
create or replace view form_effects as
with masks as (
    select transformation as part, bits, 1 as k
    from transformations
),

scored as (
    from mask_scores('masks')
),

measured as (
    from measure_scores('scored', measures := ['average'])
),

forms as (
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

effects as (
    select
        compared.*,
        whole_run,
        transformation,
        count(*) over setting - row_number() over (setting order by p_value, transformation) + 1 as n_not_smaller
    from compared
    inner join (select distinct run, whole_run, transformation from forms) as named using (run)
    window setting as (partition by whole_run)
)

select
    measured.edition_id, measured.model_id, measured.model, measured.method, measured.scoring_policy, measured.repeat,
    measured.part as transformation,
    is_negated,
    measured.n_samples,
    measured.n_pairs,
    measured.average_accuracy, measured.average_accuracy_ci_low, measured.average_accuracy_ci_high,
    difference, difference_ci_low, difference_ci_high,
    p_value,
    case when p_value is not null then
        max(least(1.0, n_not_smaller * p_value)) over (partition by measured.run order by n_not_smaller desc)
    end as holm_p_value,
    measured.n_effective,
    measured.no_answer_rate,
    measured.unfinished_reasoning_rate,
    measured.true_rate,
    measured.n_errors,
    measured.error_rate
from measured
inner join transformations on measured.part = transformations.transformation
left join effects on measured.run = effects.whole_run and measured.part = effects.transformation
order by measured.edition_id, measured.model, measured.model_id, measured.method, measured.scoring_policy, measured.repeat, position
