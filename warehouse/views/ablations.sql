-- Grain: one row per edition, model, method, scoring policy, repeat, ablation and step.
-- The scores of a model without parts of the method (method, section 4). ablation is one of:
-- `components` (PretexEval, component ablation): what each component is worth.
--   full                     pretexeval, all eight transformations, rephrased;
--   without_transformations  its samples under `none` only (rephrased, unlike `direct`);
--   without_rephrasing       the method prototype.
--   The differences are component − full, on what is graded in both (differences). A pair's one answer under `none`
--   is compared with each of its eight answers in full. Null where full is missing, and in the row of full itself.
-- `pretexeval`, `pretexttrans`: what the same predictions score when only some transformations count, step by step, in
--   the orders of the two papers. Only for methods with all eight transformations; component and differences are null.
-- average_accuracy, joint_accuracy of triplets (all samples that count right) and mastery of pairs, each with its 95 %
-- interval, as in the leaderboard.
create or replace view ablations as
with steps as (
    select *
    from (
        values
        ('components', 1, 'full', ['pretexeval'], ''),
        ('components', 2, 'without_transformations', ['pretexeval'], 'none'),
        ('components', 3, 'without_rephrasing', ['prototype'], ''),
        ('pretexeval', 1, null, ['pretexeval', 'prototype'], 'none'),
        ('pretexeval', 2, null, ['pretexeval', 'prototype'], 'none, inv'),
        ('pretexeval', 3, null, ['pretexeval', 'prototype'], 'none, inv, dn, inv_dn'),
        ('pretexeval', 4, null, ['pretexeval', 'prototype'], ''),
        ('pretexttrans', 1, null, ['pretexeval', 'prototype'], 'none'),
        ('pretexttrans', 2, null, ['pretexeval', 'prototype'], 'none, dn'),
        ('pretexttrans', 3, null, ['pretexeval', 'prototype'], 'none, inv, dn, inv_dn'),
        ('pretexttrans', 4, null, ['pretexeval', 'prototype'], '')
    ) as steps (ablation, step, component, methods, group_name)
),

taken_away as (
    select
        run,
        comparison as component,
        max(n_pairs) filter (measure = 'average_accuracy') as n_shared_pairs,
        max(difference) filter (measure = 'average_accuracy') as difference,
        max(difference_ci_low) filter (measure = 'average_accuracy') as difference_ci_low,
        max(difference_ci_high) filter (measure = 'average_accuracy') as difference_ci_high,
        max(difference) filter (measure = 'joint_accuracy') as joint_difference,
        max(difference_ci_low) filter (measure = 'joint_accuracy') as joint_difference_ci_low,
        max(difference_ci_high) filter (measure = 'joint_accuracy') as joint_difference_ci_high,
        max(difference) filter (measure = 'mastery') as mastery_difference,
        max(difference_ci_low) filter (measure = 'mastery') as mastery_difference_ci_low,
        max(difference_ci_high) filter (measure = 'mastery') as mastery_difference_ci_high
    from differences
    where comparison in ('without_transformations', 'without_rephrasing')
    group by run, comparison
)

select
    scores.edition_id, scores.model_id, scores.model, scores.method, scores.scoring_policy, scores.repeat,
    steps.ablation, steps.step, steps.component,
    case
        when steps.group_name <> '' then string_split(steps.group_name, ', ')
        else ['none', 'inv', 'ins', 'inv_ins', 'dn', 'inv_dn', 'ins_dn', 'inv_ins_dn']
    end as transformations,
    scores.k, scores.n_samples, scores.n_pairs,
    scores.average_accuracy, scores.average_accuracy_ci_low, scores.average_accuracy_ci_high, scores.n_effective,
    scores.n_triplets, scores.joint_accuracy, scores.joint_accuracy_ci_low, scores.joint_accuracy_ci_high,
    scores.n_complete_pairs, scores.mastery, scores.mastery_ci_low, scores.mastery_ci_high,
    scores.no_answer_rate, scores.unfinished_reasoning_rate, scores.refused_rate, scores.n_errors, scores.error_rate,
    n_shared_pairs, difference, difference_ci_low, difference_ci_high,
    joint_difference, joint_difference_ci_low, joint_difference_ci_high,
    mastery_difference, mastery_difference_ci_low, mastery_difference_ci_high
from scores
inner join steps on scores.group_name = steps.group_name and list_contains(steps.methods, scores.method)
left join taken_away using (run, component)
where scores.grouping_by in ('edition', 'transformation', 'transformations')
order by
    scores.edition_id, scores.model, scores.model_id, scores.method, scores.scoring_policy, scores.repeat,
    steps.ablation, steps.step
