-- Adds the means over the repeats to scores, with the grouping_by `repeats` and without a repeat and a run, for the
-- models that were asked more than once.
-- average_accuracy and mastery: the mean over the repeats. All repeats of a pair are one observation of it (the pair is
-- the cluster), so that asking again makes no interval narrower than the pairs allow.
-- average_accuracy_sd, mastery_sd: the standard deviation of the score over the repeats, which says how much of a
-- difference between two single repeats is chance of the sampling alone.
-- same_answer_rate: share of the samples whose answer, true, false or none, is the same in every repeat. Samples
-- of which a prompt failed do not count.
create or replace temp table repeated as
select *, struct_pack(edition_id, model_id, model, method, scoring_policy) as key
from pair_scores
where (edition_id, model_id) in (select (edition_id, model_id) from pair_scores where repeat > 0);

create or replace temp table observations as
select
    key,
    any_value(columns(['head_cluster', 'positive_tail_cluster', 'negative_tail_cluster'])),
    unnest(['average', 'mastery']) as measure,
    unnest([sum(n_positive_right), count(*) filter (is_mastered)])::integer as gained,
    unnest([sum(n_positive), count(*) filter (is_complete)])::integer as n,
    unnest([sum(n_negative_right), null])::integer as negative_gained,
    unnest([sum(n_negative), null])::integer as negative_n,
    unnest([max(n_positive + n_negative), bool_or(is_complete)::integer]) as n_most
from repeated
group by key, pair_id;

-- The estimates of these observations are computed here (estimation.py).
insert into scores by name
with by_repeat as (
    select
        key, any_value(run) as run,
        sum(n_positive_right + n_negative_right) / nullif(sum(n_positive + n_negative), 0) as accuracy,
        count(*) filter (is_mastered) / nullif(count(*) filter (is_complete), 0) as mastery,
        count(*) over (partition by key) as n_repeats
    from repeated
    group by key, repeat
),

answers as (
    select
        key, n_repeats,
        count(distinct case when is_unanswered then 'none' else prediction::varchar end) = 1 as is_same
    from sample_scores
    inner join by_repeat using (run)
    group by key, n_repeats, pair_id, is_positive, slot
    having count(*) filter (not is_failed) = n_repeats
),

spreads as (
    select key, n_repeats, stddev_samp(accuracy) as average_accuracy_sd, stddev_samp(mastery) as mastery_sd
    from by_repeat
    group by key, n_repeats
),

agreement as (
    select key, avg(is_same::integer) as same_answer_rate from answers group by key
)

select
    unnest(spreads.key),
    'repeats' as grouping_by, '' as group_name, 1 as group_position,
    spreads.n_repeats,
    average.share as average_accuracy,
    average.ci_low as average_accuracy_ci_low,
    average.ci_high as average_accuracy_ci_high,
    average.fixed_base_ci_low as average_accuracy_fixed_base_ci_low,
    average.fixed_base_ci_high as average_accuracy_fixed_base_ci_high,
    spreads.average_accuracy_sd,
    mastered.share as mastery, mastered.ci_low as mastery_ci_low, mastered.ci_high as mastery_ci_high,
    spreads.mastery_sd, agreement.same_answer_rate, average.n_pairs
from spreads
inner join agreement using (key)
left join estimates as average on spreads.key = average.key and average.measure = 'average'
left join estimates as mastered on spreads.key = mastered.key and mastered.measure = 'mastery'
order by
    spreads.key.edition_id, spreads.key.method, spreads.key.scoring_policy, mastery desc, spreads.key.model,
    spreads.key.model_id
