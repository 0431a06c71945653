-- Grain: one row per edition, model, scoring policy, repeat and component taken away.
-- What each component of the method is worth (method, section 4; PretexEval, component ablation):
--   full                     pretexeval, all eight transformations, rephrased;
--   without_transformations  its samples under `none` only (rephrased, unlike `direct`);
--   without_rephrasing       the method prototype.
-- average_accuracy, joint_accuracy of triplets and mastery of pairs, each with its 95 % interval, as in the
-- leaderboard; k: samples per triplet.
-- The differences are component − full, on what is graded in both (paired_scores). A pair's one answer under `none` is compared with each of its eight answers
-- in full. Null where full is missing, and in the row of full itself.
create or replace view component_ablation as
with components as (
    select
        *,
        case
            when method = 'prototype' then 'without_rephrasing'
            when grouping_by = 'transformation' then 'without_transformations'
            else 'full'
        end as component
    from part_scores
    where
        (grouping_by = 'edition' and method in ('pretexeval', 'prototype'))
        or (grouping_by = 'transformation' and group_name = 'none' and method = 'pretexeval')
)

select
    scores.edition_id, scores.model_id, scores.model, scores.scoring_policy, scores.repeat,
    scores.component,
    scores.k,
    scores.n_samples,
    scores.n_pairs,
    scores.average_accuracy, scores.average_accuracy_ci_low, scores.average_accuracy_ci_high,
    scores.n_effective,
    scores.n_triplets,
    scores.joint_accuracy, scores.joint_accuracy_ci_low, scores.joint_accuracy_ci_high,
    scores.n_complete_pairs,
    scores.mastery, scores.mastery_ci_low, scores.mastery_ci_high,
    scores.no_answer_rate,
    scores.unfinished_reasoning_rate,
    scores.n_errors,
    scores.error_rate,
    average.n_pairs as n_shared_pairs,
    average.difference, average.difference_ci_low, average.difference_ci_high,
    joint.difference as joint_difference,
    joint.difference_ci_low as joint_difference_ci_low,
    joint.difference_ci_high as joint_difference_ci_high,
    mastery.difference as mastery_difference,
    mastery.difference_ci_low as mastery_difference_ci_low,
    mastery.difference_ci_high as mastery_difference_ci_high
from components as scores
left join paired_scores as average
    on
        scores.run = average.run
        and scores.component = average.comparison
        and average.measure = 'average_accuracy'
left join paired_scores as joint
    on scores.run = joint.run and scores.component = joint.comparison and joint.measure = 'joint_accuracy'
left join paired_scores as mastery
    on scores.run = mastery.run and scores.component = mastery.comparison and mastery.measure = 'mastery'
order by
    scores.edition_id, scores.model, scores.model_id, scores.scoring_policy, scores.repeat,
    case scores.component when 'full' then 1 when 'without_transformations' then 2 else 3 end
