-- Grain: one row per edition, model, method, scoring policy, repeat and transformation.
-- average_accuracy: over the samples under the transformation. A model that always says True gets half of each right,
-- and so does a model that answers from the polarity (is_negated) alone. Methods without transformations have no rows.
-- The cost of a form: difference is the accuracy under it minus that of the plain form (none), pair by pair, on what is
-- graded in both, because the accuracies of the forms themselves vary with the facts and so hide a small difference.
-- p_value: the level at which the interval of the difference meets 0 (differences). holm_p_value: adjusted for the other
-- forms of the model (Holm 1979), so that a value below 0.05 is an effect.
create or replace view form_effects as
with effects as (
    select * from differences where comparison = 'forms' and measure = 'average_accuracy'
)

select
    scores.edition_id, scores.model_id, scores.model, scores.method, scores.scoring_policy, scores.repeat,
    scores.group_name as transformation, ends_with(scores.group_name, 'dn') as is_negated,
    scores.n_samples, scores.n_pairs,
    scores.average_accuracy, scores.average_accuracy_ci_low, scores.average_accuracy_ci_high,
    effects.difference, effects.difference_ci_low, effects.difference_ci_high,
    effects.p_value, effects.holm_p_value,
    scores.n_effective, scores.no_answer_rate, scores.unfinished_reasoning_rate, scores.refused_rate, scores.true_rate,
    scores.n_errors, scores.error_rate
from scores
left join effects on scores.run = effects.run and scores.group_name = effects.part
where scores.grouping_by = 'transformation'
order by
    scores.edition_id, scores.model, scores.model_id, scores.method, scores.scoring_policy, scores.repeat,
    scores.group_position
