-- Grain: one row per edition, method, relation (null: all of them) and baseline.
-- The scores of somebody without medical knowledge on the test samples (method, section 4), to read beside
-- every score. The baselines are described in shortcut_scores.sql. The row `best` over all relations is the best
-- shortcut of each relation, combined: what somebody could score at most who knew which shortcut works where.
-- average_accuracy, joint_accuracy of triplets and mastery of pairs, each with its 95 % interval, as in the
-- leaderboard. The scores of the coin are expected values. Their interval is that of one guesser who tosses
-- the coins of this edition, which are independent. Where `best` uses the coin in some relations, the coin's
-- expected mastery of one quarter has no error of its own. A baseline always answers: no_answer_rate is 0.
create or replace temp table scored as
select
    {'edition_id': edition_id, 'method': method, 'relation': unnest([relation, null]), 'baseline': baseline} as key,
    *
from shortcut_scores;

create or replace temp table observations as
select
    key, unnest(['average', 'joint', 'mastery']) as measure,
    head_cluster, positive_tail_cluster, negative_tail_cluster,
    unnest([n_positive_right, n_positive_triplets_right, floor(mastery)]) as gained,
    unnest([n_positive, n_positive_triplets, is_complete::bigint]) as n,
    unnest([n_right - n_positive_right, n_triplets_right - n_positive_triplets_right, null]) as negative_gained,
    unnest([n_samples - n_positive, n_triplets - n_positive_triplets, null]) as negative_n
from scored
inner join storage.pair_clusters using (edition_id, pair_id);

-- The estimates of these observations are computed here (estimation.py).
create table shortcut_baselines as
with summed as (
    select
        key,
        list_sort(list_distinct(list(shortcut))) as shortcuts,
        bool_and(is_expected) as is_expected,
        count(*) as n_pairs,
        sum(n_judged) as n_judged, sum(n_samples)::bigint as n_samples, share(n_right, n_samples) as average_accuracy,
        sum(n_triplets) as n_triplets, share(n_triplets_right, n_triplets) as joint_accuracy,
        count(*) filter (is_complete) as n_complete_pairs,
        share(mastery, is_complete::integer) as mastery,
        share((is_expected and is_complete)::integer, is_complete::integer) as tossed_rate
    from scored
    group by key
)

select
    unnest(summed.key),  -- edition_id, method, relation, baseline
    shortcuts, n_samples, summed.n_pairs,
    average_accuracy,
    case when is_expected then wilson_low(average_accuracy, n_judged) else average.ci_low end
        as average_accuracy_ci_low,
    case when is_expected then wilson_high(average_accuracy, n_judged) else average.ci_high end
        as average_accuracy_ci_high,
    average.n_effective,
    joint_accuracy,
    case when is_expected then wilson_low(joint_accuracy, n_triplets) else joint.ci_low end as joint_accuracy_ci_low,
    case when is_expected then wilson_high(joint_accuracy, n_triplets) else joint.ci_high end as joint_accuracy_ci_high,
    n_complete_pairs,
    summed.mastery,
    case when is_expected then wilson_low(summed.mastery, n_complete_pairs) else mastery.ci_low + tossed_rate / 4 end
        as mastery_ci_low,
    case when is_expected then wilson_high(summed.mastery, n_complete_pairs) else mastery.ci_high + tossed_rate / 4 end
        as mastery_ci_high,
    0.0::double as no_answer_rate
from summed
left join estimates as average on summed.key = average.key and average.measure = 'average'
left join estimates as joint on summed.key = joint.key and joint.measure = 'joint'
left join estimates as mastery on summed.key = mastery.key and mastery.measure = 'mastery'
order by summed.key.edition_id, summed.key.method, summed.key.relation nulls first, summed.key.baseline
