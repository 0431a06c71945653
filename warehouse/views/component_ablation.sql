-- Grain: one row per edition, model, scoring policy, repeat and component taken away.
-- What each component of the method is worth (method, section 4; PretexEval, component ablation):
--   full                     pretexeval, all eight transformations, rephrased;
--   without_transformations  its samples under `none` only (rephrased, unlike `direct`);
--   without_rephrasing       the method prototype.
-- average_accuracy, joint_accuracy of triplets and mastery of pairs, each with its 95 % interval, as in the
-- leaderboard; k: samples per triplet.
-- The differences are component − full, on what is graded in both (compare_parts). A pair's one answer under `none` is compared with each of its eight answers
-- in full. Null where full is missing, and in the row of full itself.
create or replace view component_ablation as
with masks as (
    select 'full' as part, 65535 as bits, 8 as k
    union all
    select 'without_transformations' as part, bits, 1 as k
    from transformations
    where transformation = 'none'
    union all
    select 'without_rephrasing' as part, 65535 as bits, 8 as k
),

scored as (
    select *
    from mask_scores('masks')
    where method = case part when 'without_rephrasing' then 'prototype' else 'pretexeval' end
),

-- The one answer under `none` is compared with all eight.
answers as (
    select * replace (
        spread_first(graded_bits, k) as graded_bits, spread_first(correct_bits, k) as correct_bits, 8 as k
    )
    from scored
    where asked_bits > 0
),

matches as (
    select one.* exclude (part), columns(other.*) as "other_\0"
    from answers as one
    inner join answers as other using (edition_id, model_id, scoring_policy, repeat, pair_id)
    where one.part <> 'full' and other.part = 'full'
),

differences as materialized (
    select *
    from compare_parts('matches')
    where relation is null
)

select
    measured.edition_id, measured.model_id, measured.model, measured.scoring_policy, measured.repeat,
    measured.part as component,
    measured.k,
    measured.n_samples,
    measured.n_pairs,
    measured.average_accuracy, measured.average_accuracy_ci_low, measured.average_accuracy_ci_high,
    measured.n_effective,
    measured.n_triplets,
    measured.joint_accuracy, measured.joint_accuracy_ci_low, measured.joint_accuracy_ci_high,
    measured.n_complete_pairs,
    measured.mastery, measured.mastery_ci_low, measured.mastery_ci_high,
    measured.no_answer_rate,
    measured.unfinished_reasoning_rate,
    measured.n_errors,
    measured.error_rate,
    average.n_pairs as n_shared_pairs,
    average.difference,
    average.difference_ci_low,
    average.difference_ci_high,
    joint.difference as joint_difference,
    joint.difference_ci_low as joint_difference_ci_low,
    joint.difference_ci_high as joint_difference_ci_high,
    mastery.difference as mastery_difference,
    mastery.difference_ci_low as mastery_difference_ci_low,
    mastery.difference_ci_high as mastery_difference_ci_high
from measure_scores('scored', measures := ['average', 'joint', 'mastery']) as measured
left join differences as average
    on measured.run = average.run and measured.part <> 'full' and average.measure = 'average_accuracy'
left join differences as joint
    on measured.run = joint.run and measured.part <> 'full' and joint.measure = 'joint_accuracy'
left join differences as mastery
    on measured.run = mastery.run and measured.part <> 'full' and mastery.measure = 'mastery'
order by
    measured.edition_id, measured.model, measured.model_id, measured.scoring_policy, measured.repeat,
    case measured.part when 'full' then 1 when 'without_transformations' then 2 else 3 end
