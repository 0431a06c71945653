-- Grain: one row per edition, model, method, scoring policy, repeat, ablation and step.
-- What the same predictions score when only some transformations count, step by step, in the orders of the
-- two papers (method, section 4): PretexEval {none}; + inv; + dn, inv_dn; all, and PretextTrans {none}; + dn;
-- + inv, inv_dn; all.
-- average_accuracy, joint_accuracy of triplets (all samples of the step right) and mastery of pairs, each with
-- its 95 % interval, as in the leaderboard. Only for methods with all eight transformations.
create or replace view transformation_ablation as
with steps as (
    select *
    from (
        values
        ('pretexeval', 1, 'none'),
        ('pretexeval', 2, 'none, inv'),
        ('pretexeval', 3, 'none, inv, dn, inv_dn'),
        ('pretexeval', 4, ''),
        ('pretexttrans', 1, 'none'),
        ('pretexttrans', 2, 'none, dn'),
        ('pretexttrans', 3, 'none, inv, dn, inv_dn'),
        ('pretexttrans', 4, '')
    ) as steps (ablation, step, group_name)
)

select
    scores.edition_id, scores.model_id, scores.model, scores.method, scores.scoring_policy, scores.repeat,
    steps.ablation,
    steps.step,
    case
        when steps.group_name <> '' then string_split(steps.group_name, ', ')
        else (select list(transformation order by position) from transformations)
    end as transformations,
    scores.k as n_transformations,
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
    scores.error_rate
from part_scores as scores
inner join steps using (group_name)
where
    scores.grouping_by in ('edition', 'transformation', 'transformations')
    and scores.method in ('pretexeval', 'prototype')
order by
    scores.edition_id, scores.model, scores.model_id, scores.method, scores.scoring_policy, scores.repeat,
    steps.ablation, steps.step
