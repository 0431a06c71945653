-- Grain: one row per comparison, two evaluations, part (null: all), relation (null: all) and measure.
-- Two scores on the same samples, paired sample by sample. comparison is one of:
-- `models`: two models, over all relations and in each. `editions`: a model on two editions, by the facts in both.
-- `methods`: the method pretexeval minus another one. `without_rephrasing`: the method prototype minus pretexeval.
-- `without_transformations`: the samples of pretexeval under `none` minus all of them.
-- `forms`: the samples under a transformation (part) minus those under `none`.
-- `anchors`: the answers in two periods; part: `successive`, or `first` if the earlier one is the first of all.
-- A sample is compared with the one in the same slot, and a method's only sample of a triplet with all eight.
-- measure: average_accuracy, over the samples that are graded on both sides; joint_accuracy, over the triplets
-- that are complete on both sides; mastery, over the pairs that are complete on both sides. n_observations counts
-- these samples, triplets or pairs, n_pairs the pairs that they belong to, and n_matched all pairs asked on both sides.
-- `forms` and `methods` have only average_accuracy; `editions` and `anchors` have no joint_accuracy.
-- difference = score − other_score, with the 95 % interval of a paired difference (estimate_shares) and the clusters of
-- the first evaluation. n_gained: the observations that are right only in the first score; n_lost: those that are
-- right only in the second.
-- There is no row without an observation. Under `excluded`, joint accuracy and mastery have no row if more than a fifth
-- of their units are not complete (part_scores).
create table paired_scores as
with evaluations as (
    select
        run,
        any_value(columns(['edition_id', 'period', 'model_id', 'model', 'method', 'scoring_policy', 'repeat'])),
        samples_per_triplet(any_value(method)) as k,
        bool_or((edition_id, model_id) in (select (edition_id, model_id) from storage.scope)) as is_new
    from sample_scores
    group by run
),

ordered as (
    select evaluations.*, editions.kb, coalesce(editions.period_start, date 'infinity') as period_start
    from evaluations
    inner join editions using (edition_id)
    where period is null
),

periods as (
    select
        evaluations.run,
        lag(evaluations.run) over successive as previous_run,
        first_value(evaluations.run) over successive as first_run
    from evaluations
    inner join runs using (edition_id, period, model_id)
    where evaluations.is_new
    window successive as (
        partition by edition_id, model_id, method, scoring_policy, repeat
        order by coalesce(runs.period_start, date 'infinity'), period
    )
),

comparisons as (
    select 'models' as comparison, one.run, other.run as other_run, null as part, 'same' as slots
    from ordered as one
    inner join ordered as other using (edition_id, method, scoring_policy, repeat)
    where one.model_id < other.model_id and (one.is_new or other.is_new)
    union all
    select 'editions' as comparison, one.run, other.run as other_run, null as part, 'same' as slots
    from ordered as one
    inner join ordered as other using (kb, model_id, method, scoring_policy, repeat)
    where
        (one.period_start, one.edition_id) < (other.period_start, other.edition_id)
        and (one.is_new or other.is_new)
    union all
    select
        'methods' as comparison, one.run, other.run as other_run, null as part,
        case when other.k = 1 then 'other once' else 'same' end as slots
    from ordered as one
    inner join ordered as other using (edition_id, model_id, scoring_policy, repeat)
    where one.method = 'pretexeval' and other.method <> 'pretexeval' and one.is_new
    union all
    select 'without_rephrasing' as comparison, one.run, other.run as other_run, null as part, 'same' as slots
    from ordered as one
    inner join ordered as other using (edition_id, model_id, scoring_policy, repeat)
    where one.method = 'prototype' and other.method = 'pretexeval' and one.is_new
    union all
    select 'without_transformations' as comparison, run, run as other_run, null as part, 'one once' as slots
    from ordered
    where method = 'pretexeval' and is_new
    union all
    select 'forms' as comparison, run, run as other_run, transformation as part, transformation as slots
    from ordered
    cross join transformations
    where method in ('pretexeval', 'prototype') and transformation <> 'none' and is_new
    union all
    select 'anchors' as comparison, previous_run as run, run as other_run, 'successive' as part, 'same' as slots
    from periods
    where previous_run is not null
    union all
    select 'anchors' as comparison, first_run as run, run as other_run, 'first' as part, 'same' as slots
    from periods
    where first_run <> previous_run
),

slot_pairs as (
    select unnest(['same', 'other once', 'one once']) as slots, unnest([s, s, 0]) as slot, unnest([s, 0, s]) as other_slot
    from range(8) as slot_numbers (s)
    union all
    select transformation, position, 0
    from transformations
),

compared as (
    select
        hash(comparison, comparisons.run, other_run, part) as compared,
        comparisons.*,
        case when comparison = 'forms' then 1 else greatest(one.k, other.k) end as k
    from comparisons
    inner join evaluations as one using (run)
    inner join evaluations as other on comparisons.other_run = other.run
),

matched as (
    select
        compared.compared,
        compared.k,
        compared.comparison,
        one.edition_id,
        one.relation,
        one.pair_id,
        one.is_positive,
        one.is_correct is not null and other.is_correct is not null as is_shared,
        is_shared and one.is_correct as is_right,
        is_shared and other.is_correct as is_other_right
    from compared
    inner join slot_pairs using (slots)
    inner join sample_scores as one on compared.run = one.run and slot_pairs.slot = one.slot
    inner join sample_scores as other
        on compared.other_run = other.run
        and slot_pairs.other_slot = other.slot
        and one.fact = other.fact
        and one.is_positive = other.is_positive
),

paired as (
    select
        compared,
        edition_id,
        relation,
        pair_id,
        comparison,
        k,
        count(*) filter (is_shared and is_positive)::integer as n_positive,
        count(*) filter (is_shared and not is_positive)::integer as n_negative,
        count(*) filter (is_right and is_positive)::integer as n_positive_right,
        count(*) filter (is_right and not is_positive)::integer as n_negative_right,
        count(*) filter (is_other_right and is_positive)::integer as n_other_positive_right,
        count(*) filter (is_other_right and not is_positive)::integer as n_other_negative_right,
        count(*) filter (is_right and not is_other_right and is_positive)::integer as n_positive_gained,
        count(*) filter (is_right and not is_other_right and not is_positive)::integer as n_negative_gained
    from matched
    group by compared, edition_id, relation, pair_id, comparison, k
),

completed as materialized (
    select
        paired.*,
        unnest(case when comparison = 'models' then [null, relation] else [null] end) as part_relation,
        hash(compared, part_relation) as key,
        pair_clusters.head_cluster, pair_clusters.positive_tail_cluster, pair_clusters.negative_tail_cluster,
        (n_positive = k)::integer as has_positive,
        (n_negative = k)::integer as has_negative,
        has_positive * (n_positive_right = k)::integer as positive_right,
        has_negative * (n_negative_right = k)::integer as negative_right,
        has_positive * (n_other_positive_right = k)::integer as other_positive_right,
        has_negative * (n_other_negative_right = k)::integer as other_negative_right
    from paired
    inner join pair_clusters using (edition_id, pair_id)
),

-- n_…_both: how many are right in both scores.
units as materialized (
    select
        key,
        'average_accuracy' as measure,
        head_cluster, positive_tail_cluster, negative_tail_cluster,
        n_positive as n,
        n_positive_right as n_right,
        n_other_positive_right as n_other_right,
        n_positive_right - n_positive_gained as n_both,
        n_negative as negative_n,
        n_negative_right as negative_right,
        n_other_negative_right as other_negative_right,
        n_negative_right - n_negative_gained as negative_both
    from completed
    union all by name
    select
        key,
        'joint_accuracy' as measure,
        head_cluster, positive_tail_cluster, negative_tail_cluster,
        has_positive as n,
        positive_right as n_right,
        other_positive_right as n_other_right,
        positive_right * other_positive_right as n_both,
        has_negative as negative_n,
        negative_right,
        other_negative_right,
        negative_right * other_negative_right as negative_both
    from completed
    where comparison not in ('forms', 'methods', 'anchors', 'editions')
    union all by name
    -- The pair as a whole is observed, so that there are no columns of its negative triplet.
    select
        key,
        'mastery' as measure,
        head_cluster, positive_tail_cluster, negative_tail_cluster,
        has_positive * has_negative as n,
        has_negative * positive_right * negative_right as n_right,
        has_positive * other_positive_right * other_negative_right as n_other_right,
        n_right * n_other_right as n_both
    from completed
    where comparison not in ('forms', 'methods')
),

summed as (
    select
        key,
        measure,
        sum(n + coalesce(negative_n, 0))::bigint as n_observations,
        sum(n_right + coalesce(negative_right, 0)) as n_right,
        sum(n_other_right + coalesce(other_negative_right, 0)) as n_other_right,
        sum(n_both + coalesce(negative_both, 0)) as n_both
    from units
    group by key, measure
),

matched_pairs as (
    select key, any_value(compared) as compared, any_value(part_relation) as relation, count(*) as n_matched
    from completed
    group by key
),

observations as (
    select
        key,
        measure,
        head_cluster, positive_tail_cluster, negative_tail_cluster,
        n_right - n_both as gained,
        n_other_right - n_both as lost,
        n,
        negative_right - negative_both as negative_gained,
        other_negative_right - negative_both as negative_lost,
        negative_n
    from units
),

estimates as materialized (
    from estimate_shares('observations')
)

select
    compared.comparison,
    one.edition_id,
    other.edition_id as other_edition_id,
    one.period,
    other.period as other_period,
    one.model_id,
    one.model,
    other.model_id as other_model_id,
    other.model as other_model,
    one.method,
    other.method as other_method,
    one.scoring_policy,
    one.repeat,
    compared.part,
    matched_pairs.relation,
    summed.measure,
    matched_pairs.n_matched,
    estimates.n_pairs,
    summed.n_observations,
    summed.n_right / summed.n_observations as score,
    summed.n_other_right / summed.n_observations as other_score,
    estimates.share as difference,
    estimates.se as difference_se,
    estimates.ci_low as difference_ci_low,
    estimates.ci_high as difference_ci_high,
    estimates.fixed_base_ci_low as difference_fixed_base_ci_low,
    estimates.fixed_base_ci_high as difference_fixed_base_ci_high,
    estimates.n_effective,
    (summed.n_right - summed.n_both)::bigint as n_gained,
    (summed.n_other_right - summed.n_both)::bigint as n_lost,
    one.run,
    other.run as other_run
from estimates
inner join summed using (key, measure)
inner join matched_pairs using (key)
inner join compared using (compared)
inner join evaluations as one on compared.run = one.run
inner join evaluations as other on compared.other_run = other.run
where
    one.scoring_policy <> 'excluded'
    or summed.measure = 'average_accuracy'
    or summed.n_observations >= 0.8 * n_matched * case when summed.measure = 'mastery' then 1 else 2 end
order by
    compared.comparison, one.edition_id, other.edition_id, one.model_id, other.model_id, other.method,
    one.scoring_policy, one.repeat, one.period, other.period, compared.part, matched_pairs.relation, summed.measure
