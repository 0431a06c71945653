-- Grain: one row per edition, model, method, scoring policy, repeat and transformation.
-- average_accuracy: over the samples under the transformation. A model that always says True gets half of each right,
-- and so does a model that answers from the polarity (is_negated) alone. Methods without transformations have no rows.
-- What a form costs: difference is the accuracy under it minus that of the plain form (none), pair by pair, on what is
-- graded in both, because the accuracies of the forms themselves vary with the facts and so hide a small difference.
-- p_value: two-sided, by the cluster-robust standard error of the difference. holm_p_value: adjusted for the other
-- forms of the model (Holm 1979), so that a value below 0.05 is an effect.
create or replace view form_effects as
with effects as (
    select
        *,
        two_sided_p(difference, difference_se) as p_value,
        count(*) over setting - row_number() over (setting order by p_value, part) + 1 as n_not_smaller
    from paired_scores
    where comparison = 'forms' and measure = 'average_accuracy'
    window setting as (partition by run)
),

-- Holm: no form may be more significant than one with a smaller p-value.
adjusted as (
    select
        *,
        case when p_value is not null then
            max(least(1.0, n_not_smaller * p_value)) over (partition by run order by n_not_smaller desc)
        end as holm_p_value
    from effects
)

select
    scores.edition_id, scores.model_id, scores.model, scores.method, scores.scoring_policy, scores.repeat,
    scores.group_name as transformation, transformations.is_negated,
    scores.n_samples, scores.n_pairs,
    scores.average_accuracy, scores.average_accuracy_ci_low, scores.average_accuracy_ci_high,
    adjusted.difference, adjusted.difference_ci_low, adjusted.difference_ci_high,
    adjusted.p_value, adjusted.holm_p_value,
    scores.n_effective, scores.no_answer_rate, scores.unfinished_reasoning_rate, scores.refused_rate, scores.true_rate,
    scores.n_errors, scores.error_rate
from part_scores as scores
inner join transformations on scores.group_name = transformations.transformation
left join adjusted on scores.run = adjusted.run and scores.group_name = adjusted.part
where scores.grouping_by = 'transformation'
order by
    scores.edition_id, scores.model, scores.model_id, scores.method, scores.scoring_policy, scores.repeat,
    transformations.position
