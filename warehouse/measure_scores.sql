-- One row per run and part: the scores of the pairs, with their 95 % intervals (estimate_shares).
-- `scored` names a query with the columns of pair_scores, `part`, which must not be null, and k, the number of
-- samples of a complete triplet. measures: those that are needed; the columns of the others are null.
-- average_accuracy: share of the graded samples that are right; negative_accuracy: likewise of the samples of
-- the false triplets. joint_accuracy: share of the complete triplets with all k samples right. mastery: share
-- of the complete pairs with all 2k right. consistency: share of the complete triplets answered all right or
-- all wrong.
-- n_pairs: pairs with a graded sample. left_out_rate: the share of the asked triplets that are not complete;
-- pair_left_out_rate: likewise of the pairs. Under `excluded`, joint_accuracy and mastery are null where that
-- rate is above 0.2: the units that are left are those that the model answered in full, and so its own selection. At
-- worst, those left out are all right or all wrong, which would move the measure by the rate itself.
-- mastery_above_shortcut: mastery minus that of the best shortcut (shortcut_scores.sql), paired by pair, over
-- the complete pairs. Where the shortcut is the coin, its expected mastery of one quarter is subtracted without
-- an error of its own.
-- true_rate: share of "true" among the answers given.
-- no_answer_rate: of the asked samples whose prompt did not fail, the share without an answer;
-- unfinished_reasoning_rate: the part of it in which the model was still thinking when its tokens were used up.
create macro measure_scores(scored, measures := ['average', 'joint', 'mastery', 'above shortcut']) as table
with counted as materialized (
    select
        edition_id, model_id, model, method, scoring_policy, repeat,
        run,
        part,
        k,
        head_cluster, positive_tail_cluster, negative_tail_cluster,
        bit_count(asked_bits)::integer as n_asked,
        bit_count(failed_bits)::integer as n_errors,
        bit_count(unanswered_bits)::integer as n_no_answer,
        bit_count(unfinished_bits)::integer as n_unfinished,
        bit_count(answered_true_bits)::integer as n_answered_true,
        bit_count(positive_bits(graded_bits))::integer as n_positive,
        bit_count(negative_bits(graded_bits))::integer as n_negative,
        bit_count(positive_bits(correct_bits))::integer as n_positive_right,
        bit_count(negative_bits(correct_bits))::integer as n_negative_right,
        (n_positive = k)::integer as has_positive,
        (n_negative = k)::integer as has_negative,
        has_positive * (n_positive_right = k)::integer as positive_right,
        has_negative * (n_negative_right = k)::integer as negative_right,
        has_positive * (n_positive_right in (0, k))::integer
        + has_negative * (n_negative_right in (0, k))::integer as n_consistent,
        shortcut,
        shortcut_mastery
    from query_table(scored)
    where asked_bits > 0
),

summed as (
    select
        run,
        part,
        any_value(columns(['edition_id', 'model_id', 'model', 'method', 'scoring_policy', 'repeat', 'k'])),
        count(*) as n_asked_pairs,
        sum(n_positive + n_negative)::bigint as n_samples,
        count(*) filter (where n_positive + n_negative > 0) as n_pairs,
        sum(has_positive + has_negative)::bigint as n_triplets,
        count(*) filter (where has_positive + has_negative > 0) as n_triplet_pairs,
        sum(has_positive * has_negative)::bigint as n_complete_pairs,
        share(n_consistent, has_positive + has_negative) as consistency,
        share(n_negative_right, n_negative) as negative_accuracy,
        share(n_no_answer, n_asked - n_errors) as no_answer_rate,
        string_agg(distinct shortcut, ' + ' order by shortcut) as best_shortcut,
        share(has_positive * has_negative * shortcut_mastery, has_positive * has_negative)
            as best_shortcut_mastery,
        share(
            (has_positive * has_negative = 1 and shortcut_mastery = 0.25)::integer,
            has_positive * has_negative
        ) as tossed_rate,
        share(n_unfinished, n_asked - n_errors) as unfinished_reasoning_rate,
        share(n_answered_true, n_asked - n_errors - n_no_answer) as true_rate,
        sum(n_errors)::bigint as n_errors,
        share(n_errors, n_asked) as error_rate
    from counted
    group by run, part
),

observations as (
    select
        struct_pack(run, part) as key,
        'average' as measure,
        head_cluster, positive_tail_cluster, negative_tail_cluster,
        n_positive_right as gained,
        n_positive as n,
        n_negative_right as negative_gained,
        n_negative as negative_n
    from counted
    where list_contains(measures, 'average')
    union all by name
    select
        struct_pack(run, part) as key,
        'joint' as measure,
        head_cluster, positive_tail_cluster, negative_tail_cluster,
        positive_right as gained,
        has_positive as n,
        negative_right as negative_gained,
        has_negative as negative_n
    from counted
    where list_contains(measures, 'joint')
    union all by name
    select
        struct_pack(run, part) as key,
        'mastery' as measure,
        head_cluster, positive_tail_cluster, negative_tail_cluster,
        positive_right * negative_right as gained,
        has_positive * has_negative as n
    from counted
    where list_contains(measures, 'mastery')
    union all by name
    select
        struct_pack(run, part) as key,
        'above shortcut' as measure,
        head_cluster, positive_tail_cluster, negative_tail_cluster,
        (positive_right * negative_right > floor(shortcut_mastery))::integer as gained,
        case
            when shortcut_mastery <> 0.25 then
                (has_positive * has_negative * floor(shortcut_mastery) > positive_right * negative_right)::integer
        end as lost,
        has_positive * has_negative as n
    from counted
    where list_contains(measures, 'above shortcut')
),

estimates as materialized (
    from estimate_shares('observations')
)

select
    summed.edition_id, summed.model_id, summed.model, summed.method, summed.scoring_policy, summed.repeat,
    summed.run,
    summed.part,
    summed.k,
    summed.n_samples,
    summed.n_pairs,
    average.share as average_accuracy,
    average.ci_low as average_accuracy_ci_low,
    average.ci_high as average_accuracy_ci_high,
    average.fixed_base_ci_low as average_accuracy_fixed_base_ci_low,
    average.fixed_base_ci_high as average_accuracy_fixed_base_ci_high,
    average.n_effective,
    average.inflation,
    average.n_rare,
    summed.negative_accuracy,
    summed.n_triplets,
    summed.n_triplet_pairs,
    1 - summed.n_triplets / (2 * summed.n_asked_pairs) as left_out_rate,
    summed.scoring_policy <> 'excluded' or left_out_rate <= 0.2 as has_joint,
    case when has_joint then joint.share end as joint_accuracy,
    case when has_joint then joint.ci_low end as joint_accuracy_ci_low,
    case when has_joint then joint.ci_high end as joint_accuracy_ci_high,
    case when has_joint then joint.fixed_base_ci_low end as joint_accuracy_fixed_base_ci_low,
    case when has_joint then joint.fixed_base_ci_high end as joint_accuracy_fixed_base_ci_high,
    joint.n_effective as joint_n_effective,
    case when has_joint then summed.consistency end as consistency,
    summed.n_complete_pairs,
    1 - summed.n_complete_pairs / summed.n_asked_pairs as pair_left_out_rate,
    summed.scoring_policy <> 'excluded' or pair_left_out_rate <= 0.2 as has_mastery,
    case when has_mastery then mastery.share end as mastery,
    case when has_mastery then mastery.ci_low end as mastery_ci_low,
    case when has_mastery then mastery.ci_high end as mastery_ci_high,
    case when has_mastery then mastery.fixed_base_ci_low end as mastery_fixed_base_ci_low,
    case when has_mastery then mastery.fixed_base_ci_high end as mastery_fixed_base_ci_high,
    mastery.n_effective as mastery_n_effective,
    mastery.inflation as mastery_inflation,
    mastery.n_rare as mastery_n_rare,
    summed.best_shortcut,
    summed.best_shortcut_mastery,
    case when has_mastery then above.share - summed.tossed_rate / 4 end
        as mastery_above_shortcut,
    case when has_mastery then above.ci_low - summed.tossed_rate / 4 end
        as mastery_above_shortcut_ci_low,
    case when has_mastery then above.ci_high - summed.tossed_rate / 4 end
        as mastery_above_shortcut_ci_high,
    summed.no_answer_rate,
    summed.unfinished_reasoning_rate,
    summed.true_rate,
    summed.n_errors,
    summed.error_rate
from summed
left join estimates as average
    on average.key = struct_pack(summed.run, summed.part) and average.measure = 'average'
left join estimates as joint
    on joint.key = struct_pack(summed.run, summed.part) and joint.measure = 'joint'
left join estimates as mastery
    on mastery.key = struct_pack(summed.run, summed.part) and mastery.measure = 'mastery'
left join estimates as above
    on above.key = struct_pack(summed.run, summed.part) and above.measure = 'above shortcut';
