-- Grain: one row per edition, model, scoring policy, repeat and component taken away.
-- What each component of the method is worth (method, section 4; PretexEval, component ablation):
--   full                     pretexeval, all eight transformations, rephrased;
--   without_transformations  its samples under `none` only (rephrased, unlike `direct`);
--   without_rephrasing       the method prototype.
-- average_accuracy, joint_accuracy of triplets and mastery of pairs, each with its 95 % interval, as in the
-- leaderboard; k: samples per triplet.
-- The differences are component − full, on what is graded in both (estimate_shares.sql): average
-- (difference), joint and mastery. A pair's one answer under `none` is compared with each of its eight answers
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

answers as (
    select
        *,
        -- The answer under `none` is compared with all eight.
        case when k = 1 then (graded_bits & 1) * 255 + (graded_bits >> 8) * 255 * 256 else graded_bits end
            as graded,
        case when k = 1 then (correct_bits & 1) * 255 + (correct_bits >> 8) * 255 * 256 else correct_bits end
            as correct,
        (bit_count(positive_bits(graded_bits)) = k)::integer as has_positive,
        (bit_count(negative_bits(graded_bits)) = k)::integer as has_negative,
        (bit_count(positive_bits(correct_bits)) = k)::integer as positive_right,
        (bit_count(negative_bits(correct_bits)) = k)::integer as negative_right
    from scored
    where asked_bits > 0
),

matched as materialized (
    select
        struct_pack(part.run, part.part) as key,
        part.head_cluster,
        part.positive_tail_cluster,
        part.negative_tail_cluster,
        part.graded & whole.graded as shared,
        part.correct & ~whole.correct & shared as gained,
        whole.correct & ~part.correct & shared as lost,
        part.has_positive * whole.has_positive as has_positive,
        part.has_negative * whole.has_negative as has_negative,
        part.has_positive * whole.has_positive * (part.positive_right - whole.positive_right)
            as positive_change,
        part.has_negative * whole.has_negative * (part.negative_right - whole.negative_right)
            as negative_change,
        part.has_positive * whole.has_positive * part.has_negative * whole.has_negative * (
            part.positive_right * part.negative_right - whole.positive_right * whole.negative_right
        ) as mastery_change
    from answers as part
    inner join answers as whole using (edition_id, model_id, scoring_policy, repeat, pair_id)
    where part.part <> 'full' and whole.part = 'full'
),

observations as (
    select
        key,
        'average' as measure,
        head_cluster,
        positive_tail_cluster,
        negative_tail_cluster,
        bit_count(positive_bits(gained))::integer as gained,
        bit_count(positive_bits(lost))::integer as lost,
        bit_count(positive_bits(shared))::integer as n,
        bit_count(negative_bits(gained))::integer as negative_gained,
        bit_count(negative_bits(lost))::integer as negative_lost,
        bit_count(negative_bits(shared))::integer as negative_n
    from matched
    union all by name
    select
        key,
        'joint' as measure,
        head_cluster,
        positive_tail_cluster,
        negative_tail_cluster,
        (positive_change = 1)::integer as gained,
        (positive_change = -1)::integer as lost,
        has_positive as n,
        (negative_change = 1)::integer as negative_gained,
        (negative_change = -1)::integer as negative_lost,
        has_negative as negative_n
    from matched
    union all by name
    select
        key,
        'mastery' as measure,
        head_cluster,
        positive_tail_cluster,
        negative_tail_cluster,
        (mastery_change = 1)::integer as gained,
        (mastery_change = -1)::integer as lost,
        has_positive * has_negative as n
    from matched
),

differences as materialized (
    from estimate_shares('observations')
)

select
    measured.edition_id,
    measured.model_id,
    measured.model,
    measured.scoring_policy,
    measured.repeat,
    measured.part as component,
    measured.k,
    measured.n_samples,
    measured.n_pairs,
    measured.average_accuracy,
    measured.ci_low,
    measured.ci_high,
    measured.n_effective,
    measured.n_triplets,
    measured.joint_accuracy,
    measured.joint_ci_low,
    measured.joint_ci_high,
    measured.n_complete_pairs,
    measured.mastery,
    measured.mastery_ci_low,
    measured.mastery_ci_high,
    measured.no_answer_rate,
    measured.unfinished_reasoning_rate,
    measured.n_errors,
    measured.error_rate,
    average.n_pairs as n_shared_pairs,
    average.share as difference,
    average.ci_low as difference_ci_low,
    average.ci_high as difference_ci_high,
    joint.share as joint_difference,
    joint.ci_low as joint_difference_ci_low,
    joint.ci_high as joint_difference_ci_high,
    mastery.share as mastery_difference,
    mastery.ci_low as mastery_difference_ci_low,
    mastery.ci_high as mastery_difference_ci_high
from measure_scores('scored', measures := ['average', 'joint', 'mastery']) as measured
left join differences as average
    on average.key = struct_pack(measured.run, measured.part) and average.measure = 'average'
left join differences as joint
    on joint.key = struct_pack(measured.run, measured.part) and joint.measure = 'joint'
left join differences as mastery
    on mastery.key = struct_pack(measured.run, measured.part) and mastery.measure = 'mastery'
order by
    measured.edition_id,
    measured.model,
    measured.model_id,
    measured.scoring_policy,
    measured.repeat,
    case measured.part when 'full' then 1 when 'without_transformations' then 2 else 3 end
