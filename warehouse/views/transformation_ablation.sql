-- Grain: one row per edition, model, method, scoring policy, repeat, ablation and step.
-- What the same predictions score when only some transformations count, step by step, in the orders of the
-- two papers (method, section 4): PretexEval {none}; + inv; + dn, inv_dn; all, and PretextTrans {none}; + dn;
-- + inv, inv_dn; all.
-- average_accuracy (pair as the cluster), joint_accuracy of triplets (all samples of the step right) and
-- mastery of pairs, each with its 95 % interval. Only for methods with all eight transformations.
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

masks as (
    select
        subsets.transformations,
        len(subsets.transformations) as n_transformations,
        sum(transformations.bits)::usmallint as bits
    from subsets
    inner join transformations
        on list_contains(subsets.transformations, transformations.transformation)
    group by subsets.transformations
),

-- The two orders share three of their steps, so each subset is computed only once.
scored as (
    select
        pair_scores.edition_id,
        pair_scores.model_id,
        pair_scores.model,
        pair_scores.method,
        pair_scores.scoring_policy,
        pair_scores.repeat,
        masks.transformations,
        masks.n_transformations,
        bit_count(asked_bits & bits)::integer as n_asked,
        bit_count(failed_bits & bits)::integer as n_errors,
        bit_count(unanswered_bits & bits)::integer as n_no_answer,
        bit_count(graded_bits & bits)::integer as n_graded,
        bit_count(correct_bits & bits)::integer as n_correct,
        (bit_count(positive_bits(graded_bits & bits)) = n_transformations)::integer
        + (bit_count(negative_bits(graded_bits & bits)) = n_transformations)::integer as n_triplets,
        (bit_count(positive_bits(correct_bits & bits)) = n_transformations)::integer
        + (bit_count(negative_bits(correct_bits & bits)) = n_transformations)::integer
            as n_triplets_right
    from pair_scores
    cross join masks
    where pair_scores.method in ('pretexeval', 'prototype')
),

measured as (
    select
        edition_id,
        model_id,
        model,
        method,
        scoring_policy,
        repeat,
        transformations,
        n_transformations,
        sum(n_graded)::bigint as n_samples,
        n_clusters(n_graded) as n_pairs,
        share(n_correct, n_graded) as average_accuracy,
        cluster_low(n_correct, n_graded) as ci_low,
        cluster_high(n_correct, n_graded) as ci_high,
        sum(n_triplets)::bigint as n_triplets,
        share(n_triplets_right, n_triplets) as joint_accuracy,
        cluster_low(n_triplets_right, n_triplets) as joint_ci_low,
        cluster_high(n_triplets_right, n_triplets) as joint_ci_high,
        count(*) filter (where n_triplets = 2) as n_complete_pairs,
        share((n_triplets_right = 2)::integer, (n_triplets = 2)::integer) as mastery,
        share(n_no_answer, n_asked - n_errors) as no_answer_rate,
        sum(n_errors)::bigint as n_errors,
        share(n_errors, n_asked) as error_rate
    from scored
    group by
        edition_id,
        model_id,
        model,
        method,
        scoring_policy,
        repeat,
        transformations,
        n_transformations
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
    measured.average_accuracy,
    measured.ci_low,
    measured.ci_high,
    measured.n_triplets,
    measured.joint_accuracy,
    measured.joint_ci_low,
    measured.joint_ci_high,
    measured.n_complete_pairs,
    measured.mastery,
    wilson_low(measured.mastery, measured.n_complete_pairs) as mastery_ci_low,
    wilson_high(measured.mastery, measured.n_complete_pairs) as mastery_ci_high,
    measured.no_answer_rate,
    measured.n_errors,
    measured.error_rate
from measured
inner join steps on measured.transformations = steps.transformations
order by
    measured.edition_id,
    measured.model,
    measured.model_id,
    measured.method,
    measured.scoring_policy,
    measured.repeat,
    steps.ablation,
    steps.step
