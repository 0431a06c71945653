-- Grain: one row per edition, model, method, scoring policy, repeat, grouping_by and group_name.
-- The scores of an evaluation and of its parts, with their 95 % intervals (estimate_shares). grouping_by is one of:
-- `edition`: all samples. `relation`: those of each relation. `likelier answer`: all samples, but the answer with the
-- higher log-probability counts instead of the one in the text.
-- `negative`, `release`, `tail commonness`, `head commonness`: groups of pairs (storage.pair_groups).
-- `taught`: pairs by what a reference model learned about their head, where it is as taught (storage.taught_pairs).
-- `training cutoff`: pairs by whether a release listed the fact before the model's training (storage.cutoff_pairs).
-- `choices`: any n samples of each triplet, which count as right if all of them are (joint_accuracy_curve).
-- `fact`: the samples of the true facts, and those of their false twins. `transformation`: the samples under it.
-- `transformations`: the samples under several of them, the steps of ablations.
-- Joint accuracy and consistency are over the complete triplets, mastery over the complete pairs. Under `excluded`,
-- joint_accuracy and mastery are null where more than 0.2 of these units are left out: the rest is the model's own
-- selection. At worst, those left out are all right or all wrong, which would move the measure by the rate itself.
-- mastery_above_shortcut: paired by pair, over the complete pairs. Where the shortcut is the coin, its expected mastery
-- of one quarter is subtracted without an error of its own.
-- affirmed_rate is low if a model denies all facts that it does not know, although its true_rate is near a half.
-- probability_range: only for `fact`, and where the log-probabilities are known.
-- no_answer_rate, unfinished_reasoning_rate, refused_rate: of the asked samples whose prompt did not fail.
create table part_scores as
with scored as (
    select *
    from pair_scores
),

evaluations as (
    select distinct run, edition_id, model_id, model, method, repeat
    from scored
),

-- Only `edition` and `relation` are compared with shortcuts.
pairs as (
    select * exclude (shortcut, shortcut_mastery)
    from scored
),

-- The transformations whose samples count in a part; k: how many of these samples a triplet has.
sample_groups as (
    select
        'transformation' as grouping_by, transformation as group_name, position as group_position,
        transformation, 1 as k
    from transformations
    union all
    select 'transformations', list_aggregate(step, 'string_agg', ', '), len(step), unnest(step), len(step)
    from (values (['none', 'inv']), (['none', 'dn']), (['none', 'inv', 'dn', 'inv_dn'])) as steps (step)
),

samples as (
    select * exclude (period)
    from sample_scores
    where period is null
),

samples_of_parts as (
    select *
    from samples
    inner join sample_groups using (transformation)
    where method <> 'llmeval'
    union all by name
    select
        *,
        'fact' as grouping_by,
        case when is_positive then 'true fact' else 'false twin' end as group_name,
        2 - is_positive::integer as group_position,
        samples_per_triplet(method) as k
    from samples
),

-- C(n_right, n), for up to K = 8 samples.
choices as (
    select n_right, n, case when n_right < n then 0 else round(exp(ln_choose(n_right, n)))::integer end as n_choices
    from range(0, 9) as counts (n_right), range(1, 9) as sizes (n)
),

parted as (
    select *, unnest(['edition', 'relation']) as grouping_by, unnest(['', relation]) as group_name, 1 as group_position
    from scored
    union all by name
    select pairs.*, groups.* exclude (edition_id, pair_id)
    from pairs
    inner join storage.pair_groups as groups using (edition_id, pair_id)
    union all by name
    select pairs.*, 'taught' as grouping_by, taught_with as group_name, 1 as group_position
    from pairs
    inner join storage.taught_pairs using (edition_id, model_id, pair_id)
    where is_as_taught
    union all by name
    select
        pairs.*, 'training cutoff' as grouping_by,
        if(is_before, 'listed before', 'listed after') as group_name, 2 - is_before::integer as group_position
    from pairs
    inner join storage.cutoff_pairs using (edition_id, model_id, pair_id)
    union all by name
    -- The log-probabilities do not depend on the scoring policy, so one policy is enough.
    select
        * replace (
            n_positive_weighed as n_positive, n_positive_likelier as n_positive_right,
            n_negative_weighed as n_negative, n_negative_likelier as n_negative_right
        ),
        'likelier answer' as grouping_by, '' as group_name, 1 as group_position
    from pairs
    qualify scoring_policy = min(scoring_policy) over (partition by edition_id, model_id)
    union all by name
    select parts.*, pairs.head_cluster, pairs.positive_tail_cluster, pairs.negative_tail_cluster
    from pairs
    inner join count_samples('samples_of_parts') as parts using (run, pair_id)
    union all by name
    -- Each choice of n samples of a complete triplet is an observation, but a triplet counts at most k / n independent
    -- ones, so that both ends agree with average_accuracy and joint_accuracy.
    select
        pairs.* replace (
            (n_positive = pairs.k)::integer * every.n_choices as n_positive,
            (n_negative = pairs.k)::integer * every.n_choices as n_negative,
            (n_positive = pairs.k)::integer * of_true.n_choices as n_positive_right,
            (n_negative = pairs.k)::integer * of_false.n_choices as n_negative_right
        ),
        'choices' as grouping_by, every.n::varchar as group_name, every.n as group_position,
        ((pairs.n_positive = pairs.k)::integer + (pairs.n_negative = pairs.k)::integer) * pairs.k / every.n as n_most
    from pairs
    inner join choices as every on pairs.k = every.n_right and every.n <= pairs.k
    inner join choices as of_true on pairs.n_positive_right = of_true.n_right and every.n = of_true.n
    inner join choices as of_false on pairs.n_negative_right = of_false.n_right and every.n = of_false.n
),

counted as materialized (
    select
        hash(run, grouping_by, group_name) as key,
        run, scoring_policy, grouping_by, group_name, group_position, k,
        head_cluster, positive_tail_cluster, negative_tail_cluster,
        n_asked, n_errors, n_no_answer, n_unfinished, n_refused, n_answered_true, n_affirmed, probability_range,
        n_positive, n_negative, n_positive_right, n_negative_right, n_most, shortcut, shortcut_mastery,
        (n_positive = k)::integer as has_positive, (n_negative = k)::integer as has_negative,
        has_positive * (n_positive_right = k)::integer as positive_right,
        has_negative * (n_negative_right = k)::integer as negative_right,
        has_positive * has_negative as has_pair, positive_right * negative_right as pair_right
    from parted
),

summed as (
    select
        key,
        any_value(columns(['run', 'scoring_policy', 'grouping_by', 'group_name', 'group_position', 'k'])),
        count(*) as n_asked_pairs,
        n_asked_pairs * case when any_value(grouping_by) = 'fact' then 1 else 2 end as n_asked_triplets,
        sum(n_positive + n_negative)::bigint as n_samples,
        count(*) filter (n_positive + n_negative > 0) as n_pairs,
        sum(has_positive + has_negative)::bigint as n_triplets,
        count(*) filter (has_positive + has_negative > 0) as n_triplet_pairs,
        sum(has_pair)::bigint as n_complete_pairs,
        any_value(scoring_policy) <> 'excluded' or n_triplets >= 0.8 * n_asked_triplets as has_joint,
        any_value(scoring_policy) <> 'excluded' or n_complete_pairs >= 0.8 * n_asked_pairs as has_mastery,
        share(
            has_positive * (n_positive_right in (0, k))::integer + has_negative * (n_negative_right in (0, k))::integer,
            has_positive + has_negative
        ) as consistency,
        share(n_negative_right, n_negative) as negative_accuracy,
        string_agg(distinct shortcut, ' + ' order by shortcut) as best_shortcut,
        share(has_pair * shortcut_mastery, has_pair) as best_shortcut_mastery,
        share((has_pair = 1 and shortcut_mastery = 0.25)::integer, has_pair) as tossed_rate,
        sum(n_errors)::bigint as n_errors, share(n_errors, n_asked) as error_rate,
        share(n_no_answer, n_asked - n_errors) as no_answer_rate,
        share(n_unfinished, n_asked - n_errors) as unfinished_reasoning_rate,
        share(n_refused, n_asked - n_errors) as refused_rate,
        share(n_answered_true, n_asked - n_errors - n_no_answer) as true_rate,
        share(n_affirmed, n_asked - n_errors - n_no_answer) as affirmed_rate,
        avg(probability_range) filter (grouping_by = 'fact') as probability_range
    from counted
    group by key
),

observations as (
    select
        key, 'average' as measure, head_cluster, positive_tail_cluster, negative_tail_cluster,
        n_positive_right as gained, n_positive as n,
        n_negative_right as negative_gained, n_negative as negative_n,
        n_most
    from counted
    union all by name
    select
        key, 'joint' as measure, head_cluster, positive_tail_cluster, negative_tail_cluster,
        positive_right as gained, has_positive as n,
        negative_right as negative_gained, has_negative as negative_n
    from counted
    where grouping_by in ('edition', 'relation', 'transformations') or group_name = 'none'
    union all by name
    select
        key, 'mastery' as measure, head_cluster, positive_tail_cluster, negative_tail_cluster,
        pair_right as gained, has_pair as n
    from counted
    where grouping_by not in ('fact', 'transformation', 'likelier answer', 'choices') or group_name = 'none'
    union all by name
    select
        key, 'above shortcut' as measure, head_cluster, positive_tail_cluster, negative_tail_cluster,
        (pair_right > floor(shortcut_mastery))::integer as gained,
        case when shortcut_mastery <> 0.25 then (has_pair * floor(shortcut_mastery) > pair_right)::integer end as lost,
        has_pair as n
    from counted
    where shortcut is not null
),

estimates as materialized (
    from estimate_shares('observations')
)

select
    edition_id, model_id, model, method, scoring_policy, repeat, grouping_by, group_name, group_position, run, k,
    n_samples, summed.n_pairs,
    average.share as average_accuracy,
    average.ci_low as average_accuracy_ci_low, average.ci_high as average_accuracy_ci_high,
    average.fixed_base_ci_low as average_accuracy_fixed_base_ci_low,
    average.fixed_base_ci_high as average_accuracy_fixed_base_ci_high,
    average.n_effective,
    negative_accuracy,
    n_triplets, n_triplet_pairs, 1 - n_triplets / n_asked_triplets as left_out_rate,
    joint.share as joint_accuracy, joint.ci_low as joint_accuracy_ci_low, joint.ci_high as joint_accuracy_ci_high,
    case when has_joint then consistency end as consistency,
    n_asked_pairs, n_complete_pairs, 1 - n_complete_pairs / n_asked_pairs as pair_left_out_rate,
    mastery.share as mastery, mastery.ci_low as mastery_ci_low, mastery.ci_high as mastery_ci_high,
    mastery.fixed_base_ci_low as mastery_fixed_base_ci_low, mastery.fixed_base_ci_high as mastery_fixed_base_ci_high,
    best_shortcut, best_shortcut_mastery,
    above.share - tossed_rate / 4 as mastery_above_shortcut,
    above.ci_low - tossed_rate / 4 as mastery_above_shortcut_ci_low,
    above.ci_high - tossed_rate / 4 as mastery_above_shortcut_ci_high,
    no_answer_rate, unfinished_reasoning_rate, refused_rate, true_rate, affirmed_rate, probability_range,
    n_errors, error_rate
from summed
inner join evaluations using (run)
left join estimates as average on summed.key = average.key and average.measure = 'average'
left join estimates as joint on summed.key = joint.key and joint.measure = 'joint' and has_joint
left join estimates as mastery on summed.key = mastery.key and mastery.measure = 'mastery' and has_mastery
left join estimates as above on summed.key = above.key and above.measure = 'above shortcut' and has_mastery
order by edition_id, model_id, method, scoring_policy, repeat, grouping_by, group_position, group_name
