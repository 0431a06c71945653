-- Grain: one row per edition, model, method, scoring policy, repeat, ablation and step.
-- What the same predictions score when only some transformations count, step by step, in the orders of the
-- two papers (method, section 4): PretexEval {none}; + inv; + dn, inv_dn; all, and PretextTrans {none}; + dn;
-- + inv, inv_dn; all.
-- average_accuracy, joint_accuracy of triplets (all samples of the step right) and mastery of pairs, each with
-- its 95 % interval, as in the leaderboard. Only for methods with all eight transformations.
create or replace view transformation_ablation as
with subsets as (
    select
        unnest([
            ['none'],
            ['none', 'inv'],
            ['none', 'dn'],
            ['none', 'inv', 'dn', 'inv_dn'],
            (select list(transformation order by position) from transformations)
        ]) as transformations
),

-- The two orders share three of their steps, so each subset is computed only once.
masks as (
    select
        subsets.transformations,
        sum(transformations.bits)::usmallint as part,
        sum(transformations.bits)::usmallint as bits,
        len(subsets.transformations) as k
    from subsets
    inner join transformations
        on list_contains(subsets.transformations, transformations.transformation)
    group by subsets.transformations
),

scored as (
    select *
    from mask_scores('masks')
    where method in ('pretexeval', 'prototype')
),

steps as (
    select
        steps.ablation,
        steps.step,
        steps.transformations,
        len(steps.transformations) as n_transformations
    from (
        values
        ('pretexeval', 1, ['none']),
        ('pretexeval', 2, ['none', 'inv']),
        ('pretexeval', 3, ['none', 'inv', 'dn', 'inv_dn']),
        ('pretexeval', 4, (select list(transformation order by position) from transformations)),
        ('pretexttrans', 1, ['none']),
        ('pretexttrans', 2, ['none', 'dn']),
        ('pretexttrans', 3, ['none', 'inv', 'dn', 'inv_dn']),
        ('pretexttrans', 4, (select list(transformation order by position) from transformations))
    ) as steps (ablation, step, transformations)
)

select
    measured.edition_id,
    measured.model_id,
    measured.model,
    measured.method,
    measured.scoring_policy,
    measured.repeat,
    steps.ablation,
    steps.step,
    steps.transformations,
    steps.n_transformations,
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
    measured.error_rate
from measure_scores('scored', measures := ['average', 'joint', 'mastery']) as measured
inner join masks on measured.part = masks.part
inner join steps on masks.transformations = steps.transformations
order by edition_id, model, model_id, method, scoring_policy, repeat, ablation, step
