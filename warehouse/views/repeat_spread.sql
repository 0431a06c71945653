-- Grain: one row per edition, model, method and scoring policy, if samples were asked more than once.
-- average_accuracy and mastery: the mean over the repeats. All repeats of a pair are one observation of it (the pair is
-- the cluster), so that asking again makes no interval narrower than the pairs allow.
-- average_accuracy_sd, mastery_sd: the standard deviation of the score over the repeats, which says how much of a
-- difference between two single repeats is chance of the sampling alone.
-- same_answer_rate: share of the samples whose answer, true, false or none, is the same in every repeat. Samples
-- of which a prompt failed do not count.
create or replace view repeat_spread as
with repeated as (
    select *
    from pair_scores
    semi join (
        select edition_id, model_id from pair_scores group by edition_id, model_id having max(repeat) > 0
    ) as several using (edition_id, model_id)
),

by_pair as materialized (
    select
        struct_pack(edition_id, model_id, method, scoring_policy) as key,
        any_value(columns(['head_cluster', 'positive_tail_cluster', 'negative_tail_cluster'])),
        sum(n_positive_right)::integer as positive_right,
        sum(n_positive)::integer as n_positive,
        sum(n_negative_right)::integer as negative_right,
        sum(n_negative)::integer as n_negative,
        max(n_positive + n_negative)::integer as n_graded,
        count(*) filter (is_mastered)::integer as n_mastered,
        count(*) filter (is_complete)::integer as n_complete
    from repeated
    group by edition_id, model_id, method, scoring_policy, pair_id
),

answers as (
    select
        struct_pack(edition_id, model_id, method, scoring_policy) as key,
        count(distinct repeat) as n_repeats,
        count(distinct case when is_unanswered then 'none' else prediction::varchar end) = 1 as is_same
    from sample_scores
    semi join repeated using (run)
    group by edition_id, model_id, method, scoring_policy, pair_id, is_positive, slot
    having not bool_or(is_failed)
),

observations as (
    select
        key,
        'average' as measure,
        head_cluster, positive_tail_cluster, negative_tail_cluster,
        positive_right as gained,
        n_positive as n,
        negative_right as negative_gained,
        n_negative as negative_n,
        n_graded as n_most
    from by_pair
    union all by name
    select
        key,
        'mastery' as measure,
        head_cluster, positive_tail_cluster, negative_tail_cluster,
        n_mastered as gained,
        n_complete as n,
        least(n_complete, 1) as n_most
    from by_pair
),

estimates as materialized (
    from estimate_shares('observations')
),

by_repeat as (
    select
        struct_pack(edition_id, model_id, method, scoring_policy) as key,
        any_value(model) as model,
        repeat,
        sum(n_positive_right + n_negative_right) / nullif(sum(n_positive + n_negative), 0) as accuracy,
        count(*) filter (is_mastered) / nullif(count(*) filter (is_complete), 0) as mastery
    from repeated
    group by edition_id, model_id, method, scoring_policy, repeat
),

spreads as (
    select
        key,
        any_value(model) as model,
        count(*) as n_repeats,
        stddev_samp(accuracy) as average_accuracy_sd,
        stddev_samp(mastery) as mastery_sd
    from by_repeat
    group by key
),

agreement as (
    select answers.key, avg(is_same::integer) as same_answer_rate
    from answers
    inner join spreads on answers.key = spreads.key and answers.n_repeats = spreads.n_repeats
    group by answers.key
)

select
    spreads.key.edition_id as edition_id,
    spreads.key.model_id as model_id,
    spreads.model,
    spreads.key.method as method,
    spreads.key.scoring_policy as scoring_policy,
    spreads.n_repeats,
    average.share as average_accuracy,
    average.ci_low as average_accuracy_ci_low,
    average.ci_high as average_accuracy_ci_high,
    average.fixed_base_ci_low as average_accuracy_fixed_base_ci_low,
    average.fixed_base_ci_high as average_accuracy_fixed_base_ci_high,
    spreads.average_accuracy_sd,
    mastered.share as mastery,
    mastered.ci_low as mastery_ci_low,
    mastered.ci_high as mastery_ci_high,
    spreads.mastery_sd,
    agreement.same_answer_rate,
    average.n_pairs
from spreads
inner join agreement using (key)
left join estimates as average on spreads.key = average.key and average.measure = 'average'
left join estimates as mastered on spreads.key = mastered.key and mastered.measure = 'mastery'
order by edition_id, method, scoring_policy, mastery desc, model, model_id
