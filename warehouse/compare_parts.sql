-- One row per run, other run, relation (null: all of them) and measure: two scores on the same pairs.
-- `matches` names a query with one row per pair: the columns of pair_scores for the first score under their own
-- names, and those for the second with the prefix `other_`. Both have the same method.
-- measure: average_accuracy, over the samples that are graded on both sides; joint_accuracy, over the triplets
-- that are complete on both sides; mastery, over the pairs that are complete on both sides. n_observations counts
-- these samples, triplets or pairs, n_pairs the pairs that they belong to, and n_matched all rows of `matches`.
-- has_score: false for joint accuracy and mastery under `excluded` where more than a fifth of their units are not
-- complete (measure_scores). No measure has a row without an observation.
-- score, other_score: with 95 % intervals of their own. difference = score − other_score, with the interval of a
-- paired difference (estimate_shares); detectable_difference: the smallest true difference that would be found
-- with a power of 80 % (macros.sql). n_gained: the observations that are right only in the first score; n_lost:
-- those that are right only in the second.
create macro compare_parts(matches) as table
with matched as materialized (
    select
        *,
        -- A list, because a relation may have any name, and a part must not be null.
        unnest([[relation], []::varchar[]]) as part,
        graded_bits & other_graded_bits as shared,
        correct_bits & shared as correct,
        other_correct_bits & shared as other_correct,
        (bit_count(positive_bits(shared)) = k)::integer as has_positive,
        (bit_count(negative_bits(shared)) = k)::integer as has_negative,
        has_positive * (bit_count(positive_bits(correct)) = k)::integer as positive_right,
        has_negative * (bit_count(negative_bits(correct)) = k)::integer as negative_right,
        has_positive * (bit_count(positive_bits(other_correct)) = k)::integer as other_positive_right,
        has_negative * (bit_count(negative_bits(other_correct)) = k)::integer as other_negative_right
    from query_table(matches)
),

summed as (
    select
        run,
        other_run,
        part,
        any_value(columns([
            'edition_id', 'other_edition_id', 'model_id', 'model', 'other_model_id', 'other_model', 'method',
            'scoring_policy', 'repeat'
        ])),
        count(*) as n_matched,
        sum(has_positive + has_negative) as n_triplets,
        sum(has_positive * has_negative) as n_complete_pairs,
        share(n_no_answer, n_asked - n_errors) as no_answer_rate,
        share(n_errors, n_asked) as error_rate,
        share(other_n_no_answer, other_n_asked - other_n_errors) as other_no_answer_rate,
        share(other_n_errors, other_n_asked) as other_error_rate
    from matched
    group by run, other_run, part
),

units as (
    select
        run,
        other_run,
        part,
        'average_accuracy' as measure,
        head_cluster, positive_tail_cluster, negative_tail_cluster,
        bit_count(positive_bits(correct))::integer as score,
        bit_count(positive_bits(other_correct))::integer as other_score,
        bit_count(positive_bits(correct & ~other_correct))::integer as gained,
        bit_count(positive_bits(other_correct & ~correct))::integer as lost,
        bit_count(positive_bits(shared))::integer as n,
        bit_count(negative_bits(correct))::integer as negative_score,
        bit_count(negative_bits(other_correct))::integer as other_negative_score,
        bit_count(negative_bits(correct & ~other_correct))::integer as negative_gained,
        bit_count(negative_bits(other_correct & ~correct))::integer as negative_lost,
        bit_count(negative_bits(shared))::integer as negative_n
    from matched
    union all by name
    select
        run,
        other_run,
        part,
        'joint_accuracy' as measure,
        head_cluster, positive_tail_cluster, negative_tail_cluster,
        positive_right as score,
        other_positive_right as other_score,
        positive_right * (1 - other_positive_right) as gained,
        other_positive_right * (1 - positive_right) as lost,
        has_positive as n,
        negative_right as negative_score,
        other_negative_right as other_negative_score,
        negative_right * (1 - other_negative_right) as negative_gained,
        other_negative_right * (1 - negative_right) as negative_lost,
        has_negative as negative_n
    from matched
    union all by name
    -- The pair as a whole is observed, so that there are no columns of its negative triplet.
    select
        run,
        other_run,
        part,
        'mastery' as measure,
        head_cluster, positive_tail_cluster, negative_tail_cluster,
        has_negative * positive_right * negative_right as score,
        has_positive * other_positive_right * other_negative_right as other_score,
        score * (1 - other_score) as gained,
        other_score * (1 - score) as lost,
        has_positive * has_negative as n
    from matched
),

counted as (
    select
        run,
        other_run,
        part,
        measure,
        sum(gained + coalesce(negative_gained, 0))::bigint as n_gained,
        sum(lost + coalesce(negative_lost, 0))::bigint as n_lost
    from units
    group by run, other_run, part, measure
),

observations as (
    select
        struct_pack(run, other_run, part, value := 'difference') as key,
        measure,
        head_cluster, positive_tail_cluster, negative_tail_cluster,
        gained,
        lost,
        n,
        negative_gained,
        negative_lost,
        negative_n
    from units
    union all by name
    select
        struct_pack(run, other_run, part, value := 'score') as key,
        measure,
        head_cluster, positive_tail_cluster, negative_tail_cluster,
        score as gained,
        n,
        negative_score as negative_gained,
        negative_n
    from units
    union all by name
    select
        struct_pack(run, other_run, part, value := 'other score') as key,
        measure,
        head_cluster, positive_tail_cluster, negative_tail_cluster,
        other_score as gained,
        n,
        other_negative_score as negative_gained,
        negative_n
    from units
),

estimates as materialized (
    select key.run, key.other_run, key.part, key.value, * exclude (key)
    from estimate_shares('observations')
)

select
    summed.edition_id,
    summed.other_edition_id,
    summed.model_id,
    summed.model,
    summed.other_model_id,
    summed.other_model,
    summed.method,
    summed.scoring_policy,
    summed.repeat,
    part[1] as relation,
    measure,
    summed.n_matched,
    differences.n_pairs,
    differences.n_observations,
    scores.share as score,
    scores.ci_low as score_ci_low,
    scores.ci_high as score_ci_high,
    other_scores.share as other_score,
    other_scores.ci_low as other_score_ci_low,
    other_scores.ci_high as other_score_ci_high,
    differences.share as difference,
    differences.se as difference_se,
    differences.ci_low as difference_ci_low,
    differences.ci_high as difference_ci_high,
    differences.fixed_base_ci_low as difference_fixed_base_ci_low,
    differences.fixed_base_ci_high as difference_fixed_base_ci_high,
    differences.n_effective,
    detectable(differences.ci_high - differences.ci_low) as detectable_difference,
    counted.n_gained,
    counted.n_lost,
    summed.no_answer_rate,
    summed.error_rate,
    summed.other_no_answer_rate,
    summed.other_error_rate,
    run,
    case
        when summed.scoring_policy <> 'excluded' then true
        when measure = 'mastery' then n_complete_pairs >= 0.8 * n_matched
        when measure = 'joint_accuracy' then n_triplets >= 0.8 * 2 * n_matched
        else true
    end as has_score
from summed
inner join counted using (run, other_run, part)
inner join estimates as differences using (run, other_run, part, measure)
inner join estimates as scores using (run, other_run, part, measure)
inner join estimates as other_scores using (run, other_run, part, measure)
where
    differences.value = 'difference'
    and scores.value = 'score'
    and other_scores.value = 'other score'
order by edition_id, other_edition_id, model_id, other_model_id, method, scoring_policy, repeat, part, measure;
