-- Grain: one row per edition, model, scoring policy, repeat and component taken away.
-- What each component of the method is worth (method, section 4; PretexEval, component ablation):
--   full                     pretexeval, all eight transformations, rephrased;
--   without_transformations  its samples under `none` only (rephrased, unlike `direct`);
--   without_rephrasing       the method prototype.
-- average_accuracy (pair as the cluster), joint_accuracy of triplets and mastery of pairs, each with its 95 %
-- interval; k: samples per triplet.
-- The differences are component − full, on what is graded in both, with the pair as the cluster (macros.sql,
-- paired): average (difference), joint and mastery. A pair's one answer under `none` is compared with each of
-- its eight answers in full. Null where full is missing, and in the row of full itself.
create or replace view component_ablation as
with parts as (
    select
        'full' as component, 1 as position, 8 as k,
        edition_id, model_id, model, scoring_policy, repeat, pair_id,
        asked_bits as asked, failed_bits as failed, unanswered_bits as unanswered,
        graded_bits as graded, correct_bits as correct,
        graded as spread_graded, correct as spread_correct
    from pair_scores
    where method = 'pretexeval'
    union all
    select
        'without_transformations' as component, 2 as position, 1 as k,
        edition_id, model_id, model, scoring_policy, repeat, pair_id,
        asked_bits & bits as asked, failed_bits & bits as failed, unanswered_bits & bits as unanswered,
        graded_bits & bits as graded, correct_bits & bits as correct,
        (graded & 1) * 255 + (graded >> 8) * 255 * 256 as spread_graded,
        (correct & 1) * 255 + (correct >> 8) * 255 * 256 as spread_correct
    from pair_scores
    inner join transformations on transformations.transformation = 'none'
    where method = 'pretexeval'
    union all
    select
        'without_rephrasing' as component, 3 as position, 8 as k,
        edition_id, model_id, model, scoring_policy, repeat, pair_id,
        asked_bits as asked, failed_bits as failed, unanswered_bits as unanswered,
        graded_bits as graded, correct_bits as correct,
        graded as spread_graded, correct as spread_correct
    from pair_scores
    where method = 'prototype'
),

counted as (
    select
        component, position, k,
        edition_id, model_id, model, scoring_policy, repeat, pair_id,
        spread_graded, spread_correct,
        bit_count(asked)::integer as n_asked,
        bit_count(failed)::integer as n_errors,
        bit_count(unanswered)::integer as n_no_answer,
        bit_count(graded)::integer as n_graded,
        bit_count(correct)::integer as n_correct,
        (bit_count(positive_bits(graded)) = k)::integer as has_positive,
        (bit_count(negative_bits(graded)) = k)::integer as has_negative,
        (bit_count(positive_bits(correct)) = k)::integer as positive_right,
        (bit_count(negative_bits(correct)) = k)::integer as negative_right
    from parts
    where asked > 0
),

measured as (
    select
        component, position, k,
        edition_id, model_id, model, scoring_policy, repeat,
        sum(n_graded)::bigint as n_samples,
        n_clusters(n_graded) as n_pairs,
        share(n_correct, n_graded) as average_accuracy,
        effective_n(n_correct, n_graded, 1, sum(n_graded)) as n_effective,
        sum(has_positive + has_negative)::bigint as n_triplets,
        share(positive_right + negative_right, has_positive + has_negative) as joint_accuracy,
        effective_n(
            positive_right + negative_right,
            has_positive + has_negative,
            1,
            sum(has_positive + has_negative)
        ) as n_joint_effective,
        sum(has_positive * has_negative)::bigint as n_complete_pairs,
        share(positive_right * negative_right, has_positive * has_negative) as mastery,
        share(n_no_answer, n_asked - n_errors) as no_answer_rate,
        sum(n_errors)::bigint as n_errors,
        share(n_errors, n_asked) as error_rate
    from counted
    group by component, position, k, edition_id, model_id, model, scoring_policy, repeat
),

matched as (
    select
        part.component,
        part.edition_id, part.model_id, part.scoring_policy, part.repeat,
        part.spread_graded & whole.spread_graded as shared,
        bit_count(shared)::integer as n_shared,
        bit_count(part.spread_correct & ~whole.spread_correct & shared)::integer as n_gained,
        bit_count(whole.spread_correct & ~part.spread_correct & shared)::integer as n_lost,
        part.has_positive * whole.has_positive as has_true,
        part.has_negative * whole.has_negative as has_false,
        has_true * (part.positive_right - whole.positive_right) as positive_change,
        has_false * (part.negative_right - whole.negative_right) as negative_change,
        (positive_change = 1)::integer + (negative_change = 1)::integer as n_triplets_gained,
        (positive_change = -1)::integer + (negative_change = -1)::integer as n_triplets_lost,
        has_true * has_false * (
            part.positive_right * part.negative_right - whole.positive_right * whole.negative_right
        ) as mastery_change
    from counted as part
    inner join counted as whole using (edition_id, model_id, scoring_policy, repeat, pair_id)
    where part.component <> 'full' and whole.component = 'full'
),

compared as (
    select
        component,
        edition_id, model_id, scoring_policy, repeat,
        n_clusters(n_shared) as n_shared_pairs,
        paired(n_gained, n_lost, n_shared) as average,
        paired(n_triplets_gained, n_triplets_lost, has_true + has_false) as joint,
        sum(has_true * has_false)::bigint as n_complete,
        sum((mastery_change = 1)::integer)::bigint as n_pairs_gained,
        sum((mastery_change = -1)::integer)::bigint as n_pairs_lost
    from matched
    group by component, edition_id, model_id, scoring_policy, repeat
)

select
    measured.edition_id,
    measured.model_id,
    measured.model,
    measured.scoring_policy,
    measured.repeat,
    measured.component,
    measured.k,
    measured.n_samples,
    measured.n_pairs,
    measured.average_accuracy,
    wilson_low(measured.average_accuracy, n_effective) as ci_low,
    wilson_high(measured.average_accuracy, n_effective) as ci_high,
    measured.n_triplets,
    measured.joint_accuracy,
    wilson_low(measured.joint_accuracy, n_joint_effective) as joint_ci_low,
    wilson_high(measured.joint_accuracy, n_joint_effective) as joint_ci_high,
    measured.n_complete_pairs,
    measured.mastery,
    wilson_low(measured.mastery, measured.n_complete_pairs) as mastery_ci_low,
    wilson_high(measured.mastery, measured.n_complete_pairs) as mastery_ci_high,
    measured.no_answer_rate,
    measured.n_errors,
    measured.error_rate,
    compared.n_shared_pairs,
    compared.average.difference,
    paired_low(compared.average) as difference_ci_low,
    paired_high(compared.average) as difference_ci_high,
    compared.joint.difference as joint_difference,
    paired_low(compared.joint) as joint_difference_ci_low,
    paired_high(compared.joint) as joint_difference_ci_high,
    (n_pairs_gained - n_pairs_lost) / nullif(n_complete, 0) as mastery_difference,
    unit_low(n_pairs_gained, n_pairs_lost, nullif(n_complete, 0)) as mastery_difference_ci_low,
    unit_high(n_pairs_gained, n_pairs_lost, nullif(n_complete, 0)) as mastery_difference_ci_high
from measured
left join compared using (component, edition_id, model_id, scoring_policy, repeat)
order by
    measured.edition_id,
    measured.model,
    measured.model_id,
    measured.scoring_policy,
    measured.repeat,
    measured.position
