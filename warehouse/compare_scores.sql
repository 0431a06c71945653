-- One row per edition, other edition, model, other model, method, scoring policy and repeat: two scores
-- on the same questions, paired. `matches` names a query that joins two rows of pair_scores per question:
-- the columns of the first under their own names, those of the second with the prefix `other_`.
-- n_matched: rows of `matches`. The averages count the samples graded on both sides, n_pairs the rows
-- with such a sample; mastery counts the rows that are complete on both sides (n_complete), and is null under
-- `excluded` where more than a fifth of the rows are not (measure_scores).
-- scores names the table of all scores from which these rows come, or a query with its columns.
-- difference, difference_se and mastery_difference have the clusters of the first score (estimate_shares). The
-- variance of each score by itself is inflated as much as that of all its pairs.
create macro compare_scores(matches, scores := 'pair_scores') as table
with counted as materialized (
    select
        edition_id,
        other_edition_id,
        model_id,
        other_model_id,
        method,
        scoring_policy,
        repeat,
        run,
        other_run,
        head_cluster, positive_tail_cluster, negative_tail_cluster,
        graded_bits & other_graded_bits as shared,
        correct_bits & shared as correct,
        other_correct_bits & shared as other_correct,
        is_complete and other_is_complete as is_shared,
        (is_shared and is_mastered)::integer as mastered,
        (is_shared and other_is_mastered)::integer as other_mastered,
        n_asked,
        n_errors,
        n_no_answer,
        other_n_asked,
        other_n_errors,
        other_n_no_answer
    from query_table(matches)
),

measured as (
    select
        run,
        other_run,
        any_value(columns([
            'edition_id', 'other_edition_id', 'model_id', 'other_model_id', 'method', 'scoring_policy',
            'repeat'
        ])),
        count(*) as n_matched,
        sum(bit_count(shared))::bigint as n_samples,
        n_clusters(bit_count(shared)::integer) as n_pairs,
        observe(bit_count(correct)::integer, bit_count(shared)::integer) as average,
        observe(bit_count(other_correct)::integer, bit_count(shared)::integer) as other_average,
        sum(is_shared::integer)::bigint as n_complete,
        any_value(scoring_policy) <> 'excluded' or n_complete >= 0.8 * n_matched as has_mastery,
        observe(mastered, is_shared::integer) as mastery,
        observe(other_mastered, is_shared::integer) as other_mastery,
        sum((mastered > other_mastered)::integer)::bigint as n_mastered_alone,
        sum((mastered < other_mastered)::integer)::bigint as n_other_mastered_alone,
        share(n_no_answer, n_asked - n_errors) as no_answer_rate,
        share(n_errors, n_asked) as error_rate,
        share(other_n_no_answer, other_n_asked - other_n_errors) as other_no_answer_rate,
        share(other_n_errors, other_n_asked) as other_error_rate
    from counted
    group by run, other_run
),

observations as (
    select
        struct_pack(run, other_run) as key,
        'average' as measure,
        head_cluster, positive_tail_cluster, negative_tail_cluster,
        bit_count(positive_bits(correct & ~other_correct))::integer as gained,
        bit_count(positive_bits(other_correct & ~correct))::integer as lost,
        bit_count(positive_bits(shared))::integer as n,
        bit_count(negative_bits(correct & ~other_correct))::integer as negative_gained,
        bit_count(negative_bits(other_correct & ~correct))::integer as negative_lost,
        bit_count(negative_bits(shared))::integer as negative_n
    from counted
    union all by name
    select
        struct_pack(run, other_run) as key,
        'mastery' as measure,
        head_cluster, positive_tail_cluster, negative_tail_cluster,
        (mastered > other_mastered)::integer as gained,
        (mastered < other_mastered)::integer as lost,
        is_shared::integer as n
    from counted
),

differences as materialized (
    from estimate_shares('observations')
),

own_pairs as (
    select *, 'all' as part
    from query_table(scores)
),

own as materialized (
    from measure_scores('own_pairs', measures := ['average', 'mastery'])
),

sized as (
    select
        measured.*,
        effective_n(measured.average, one.inflation, one.n_rare) as n_average,
        effective_n(measured.other_average, other.inflation, other.n_rare) as n_other_average,
        effective_n(measured.mastery, one.mastery_inflation, one.mastery_n_rare) as n_mastery,
        effective_n(measured.other_mastery, other.mastery_inflation, other.mastery_n_rare)
            as n_other_mastery
    from measured
    inner join own as one on measured.run = one.run
    inner join own as other on measured.other_run = other.run
)

select
    sized.edition_id,
    sized.other_edition_id,
    sized.model_id,
    models.name as model,
    sized.other_model_id,
    other_models.name as other_model,
    sized.method,
    sized.scoring_policy,
    sized.repeat,
    sized.n_matched,
    sized.n_samples,
    sized.n_pairs,
    sized.average.share as average_accuracy,
    wilson_low(sized.average.share, n_average) as average_accuracy_ci_low,
    wilson_high(sized.average.share, n_average) as average_accuracy_ci_high,
    sized.other_average.share as other_average_accuracy,
    wilson_low(sized.other_average.share, n_other_average) as other_average_accuracy_ci_low,
    wilson_high(sized.other_average.share, n_other_average) as other_average_accuracy_ci_high,
    average.share as difference,
    average.se as difference_se,
    average.ci_low as difference_ci_low,
    average.ci_high as difference_ci_high,
    average.fixed_base_ci_low as difference_fixed_base_ci_low,
    average.fixed_base_ci_high as difference_fixed_base_ci_high,
    average.n_effective,
    sized.n_complete,
    case when has_mastery then sized.mastery.share end as mastery,
    case when has_mastery then wilson_low(sized.mastery.share, n_mastery) end as mastery_ci_low,
    case when has_mastery then wilson_high(sized.mastery.share, n_mastery) end as mastery_ci_high,
    case when has_mastery then sized.other_mastery.share end as other_mastery,
    case when has_mastery then wilson_low(sized.other_mastery.share, n_other_mastery) end
        as other_mastery_ci_low,
    case when has_mastery then wilson_high(sized.other_mastery.share, n_other_mastery) end
        as other_mastery_ci_high,
    case when has_mastery then mastery.share end as mastery_difference,
    case when has_mastery then mastery.ci_low end as mastery_difference_ci_low,
    case when has_mastery then mastery.ci_high end as mastery_difference_ci_high,
    case when has_mastery then mastery.fixed_base_ci_low end as mastery_difference_fixed_base_ci_low,
    case when has_mastery then mastery.fixed_base_ci_high end as mastery_difference_fixed_base_ci_high,
    sized.n_mastered_alone,
    sized.n_other_mastered_alone,
    sized.no_answer_rate,
    sized.other_no_answer_rate,
    sized.error_rate,
    sized.other_error_rate,
    sized.run,
    sized.other_run
from sized
inner join models on sized.model_id = models.model_id
inner join models as other_models on sized.other_model_id = other_models.model_id
left join differences as average
    on average.key = struct_pack(sized.run, sized.other_run) and average.measure = 'average'
left join differences as mastery
    on mastery.key = struct_pack(sized.run, sized.other_run) and mastery.measure = 'mastery';
