-- Grain: one row per comparison, two evaluations, part (null: all), relation (null: all) and measure.
-- Two scores on the same samples, paired sample by sample. comparison is one of:
-- `models`: two models, over all relations and in each. `editions`: a model on two editions, by the facts in both.
-- `methods`: the method pretexeval minus another one. `without_rephrasing`: the method prototype minus pretexeval.
-- `without_transformations`: the samples of pretexeval under `none` minus all of them.
-- `forms`: the samples under a transformation (part) minus those under `none`.
-- `anchors`: the answers in two periods; part: `successive`, or `first` if the earlier one is the first of all.
-- A sample is compared with the one in the same slot, and a method's only sample of a triplet with all eight.
-- average_accuracy is over the samples that are graded on both sides, joint_accuracy over the triplets and mastery over
-- the pairs that are complete on both sides; there is no row without such an observation.
-- `forms` and `methods` have only average_accuracy; `editions` and `anchors` have no joint_accuracy.
-- difference = score − other_score, with the 95 % interval of a paired difference (estimate_shares) and the clusters of
-- the first evaluation.
-- Under `excluded`, joint accuracy and mastery have no row if more than a fifth of their units are not complete
-- (part_scores).
create table paired_scores as
with evaluations as (
    select run, edition_id, null::varchar as period, model_id, model, method, scoring_policy, repeat, k
    from part_scores
    where grouping_by = 'edition'
    union all
    select distinct
        run, edition_id, period, model_id, model, method, scoring_policy, repeat, samples_per_triplet(method) as k
    from sample_scores
    where period is not null
),

ordered as (
    select evaluations.*, editions.kb, coalesce(editions.period_start, date 'infinity') as period_start
    from evaluations
    inner join editions using (edition_id)
    where period is null
),

periods as (
    select run, lag(run) over successive as previous_run, first_value(run) over successive as first_run
    from evaluations
    inner join runs using (edition_id, period, model_id)
    window successive as (
        partition by edition_id, model_id, method, scoring_policy, repeat
        order by coalesce(runs.period_start, date 'infinity'), period
    )
),

-- slots, other_slots: the samples that are compared (arrangements).
comparisons as (
    select 'models' as comparison, one.run, other.run as other_run, null as part, 'all' as slots, 'all' as other_slots
    from ordered as one
    inner join ordered as other using (edition_id, method, scoring_policy, repeat)
    where one.model_id < other.model_id
    union all
    select 'editions', one.run, other.run, null, 'all', 'all'
    from ordered as one
    inner join ordered as other using (kb, model_id, method, scoring_policy, repeat)
    where (one.period_start, one.edition_id) < (other.period_start, other.edition_id)
    union all
    select 'methods', one.run, other.run, null, 'all', case when other.k = 1 then 'first for all' else 'all' end
    from ordered as one
    inner join ordered as other using (edition_id, model_id, scoring_policy, repeat)
    where one.method = 'pretexeval' and other.method <> 'pretexeval'
    union all
    select 'without_rephrasing', one.run, other.run, null, 'all', 'all'
    from ordered as one
    inner join ordered as other using (edition_id, model_id, scoring_policy, repeat)
    where one.method = 'prototype' and other.method = 'pretexeval'
    union all
    select 'without_transformations', run, run, null, 'first for all', 'all'
    from ordered
    where method = 'pretexeval'
    union all
    select 'forms', run, run, transformation, transformation, 'none'
    from ordered
    cross join transformations
    where method in ('pretexeval', 'prototype') and transformation <> 'none'
    union all
    select 'anchors', previous_run, run, 'successive', 'all', 'all'
    from periods
    where previous_run is not null
    union all
    select 'anchors', first_run, run, 'first', 'all', 'all'
    from periods
    where first_run <> previous_run
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

-- Which samples of a triplet are compared: all eight; the first one, repeated eight times; or the one under a
-- transformation. Samples are bits: `slot` for those of the true triplet, and 8 + slot for those of the false one.
arrangements as (
    select 'all' as slots, 0 as shift, 65535 as mask, 1 as copies
    union all
    select 'first for all', 0, 257, 255
    union all
    select transformation, position, 257, 1
    from transformations
),

sides as (
    select run, slots from compared
    union
    select other_run, other_slots from compared
),

pairs as (
    select
        run, fact,
        hash(any_value(edition_id), pair_id) as pair,
        any_value(relation) as relation,
        bit_or(bit) as asked,
        coalesce(bit_or(bit) filter (is_correct is not null), 0) as graded,
        coalesce(bit_or(bit) filter (is_correct), 0) as correct
    from (
        select *, 1 << (slot + 8 * (not is_positive)::integer) as bit
        from sample_scores
        semi join sides using (run)
        where slot < 8
    )
    group by run, fact, pair_id
),

arranged as materialized (
    select
        run, slots, fact, pair, relation,
        hash(run, slots, fact) as side,
        ((asked >> shift) & mask) * copies as asked,
        ((graded >> shift) & mask) * copies as graded,
        ((correct >> shift) & mask) * copies as correct
    from sides
    inner join arrangements using (slots)
    inner join pairs using (run)
),

-- n_…_both: how many are right in both scores. The other side is joined by one hash, because DuckDB would join the two
-- sides by their facts before it knows which runs are compared.
paired as (
    select
        compared, comparison, k, one.pair, one.relation,
        one.graded & other.graded as shared,
        one.correct & shared as correct_bits, other.correct & shared as other_bits,
        bit_count(shared & 255)::integer as n_positive, bit_count(shared >> 8)::integer as n_negative,
        bit_count(correct_bits & 255)::integer as n_positive_right,
        bit_count(correct_bits >> 8)::integer as n_negative_right,
        bit_count(other_bits & 255)::integer as n_other_positive_right,
        bit_count(other_bits >> 8)::integer as n_other_negative_right,
        bit_count(correct_bits & other_bits & 255)::integer as n_positive_both,
        bit_count((correct_bits & other_bits) >> 8)::integer as n_negative_both
    from compared
    inner join arranged as one using (run, slots)
    inner join arranged as other on hash(compared.other_run, compared.other_slots, one.fact) = other.side
    where one.asked & other.asked <> 0
),

completed as materialized (
    select
        paired.*,
        unnest(case when comparison = 'models' then [null, relation] else [null] end) as part_relation,
        hash(compared, part_relation) as key,
        pair_clusters.head_cluster, pair_clusters.positive_tail_cluster, pair_clusters.negative_tail_cluster,
        (n_positive = k)::integer as has_positive, (n_negative = k)::integer as has_negative,
        (n_positive_right = k)::integer as positive_right, (n_negative_right = k)::integer as negative_right,
        (n_other_positive_right = k)::integer as other_positive_right,
        (n_other_negative_right = k)::integer as other_negative_right
    from paired
    inner join pair_clusters on paired.pair = hash(pair_clusters.edition_id, pair_clusters.pair_id)
),

observations as materialized (
    select
        key, 'average_accuracy' as measure, head_cluster, positive_tail_cluster, negative_tail_cluster,
        n_positive_right - n_positive_both as gained, n_other_positive_right - n_positive_both as lost,
        n_negative_right - n_negative_both as negative_gained,
        n_other_negative_right - n_negative_both as negative_lost,
        n_positive as n, n_negative as negative_n, n_positive_both + n_negative_both as n_both
    from completed
    union all by name
    select
        key, 'joint_accuracy' as measure, head_cluster, positive_tail_cluster, negative_tail_cluster,
        positive_right * (1 - other_positive_right) as gained,
        other_positive_right * (1 - positive_right) as lost,
        negative_right * (1 - other_negative_right) as negative_gained,
        other_negative_right * (1 - negative_right) as negative_lost,
        has_positive as n, has_negative as negative_n,
        positive_right * other_positive_right + negative_right * other_negative_right as n_both
    from completed
    where comparison not in ('forms', 'methods', 'anchors', 'editions')
    union all by name
    -- The pair as a whole is observed, so that there are no columns of its negative triplet.
    select
        key, 'mastery' as measure, head_cluster, positive_tail_cluster, negative_tail_cluster,
        positive_right * negative_right * (1 - other_positive_right * other_negative_right) as gained,
        other_positive_right * other_negative_right * (1 - positive_right * negative_right) as lost,
        has_positive * has_negative as n,
        positive_right * negative_right * other_positive_right * other_negative_right as n_both
    from completed
    where comparison not in ('forms', 'methods')
),

summed as (
    select
        key, measure,
        sum(gained + coalesce(negative_gained, 0))::bigint as n_gained,
        sum(lost + coalesce(negative_lost, 0))::bigint as n_lost,
        sum(n_both)::bigint as n_both
    from observations
    group by key, measure
),

matched_pairs as (
    select key, any_value(compared) as compared, any_value(part_relation) as relation, count(*) as n_matched
    from completed
    group by key
),

estimates as materialized (
    from estimate_shares('observations')
)

select
    comparison, one.edition_id, other.edition_id as other_edition_id, one.period, other.period as other_period,
    one.model_id, one.model, other.model_id as other_model_id, other.model as other_model,
    one.method, other.method as other_method, one.scoring_policy, one.repeat,
    part, relation, measure,
    n_matched, n_pairs, n_observations,
    (n_gained + n_both) / n_observations as score, (n_lost + n_both) / n_observations as other_score,
    share as difference, se as difference_se, ci_low as difference_ci_low, ci_high as difference_ci_high,
    fixed_base_ci_low as difference_fixed_base_ci_low, fixed_base_ci_high as difference_fixed_base_ci_high,
    n_effective, n_gained, n_lost,
    one.run, other.run as other_run
from estimates
inner join summed using (key, measure)
inner join matched_pairs using (key)
inner join compared using (compared)
inner join evaluations as one on compared.run = one.run
inner join evaluations as other on compared.other_run = other.run
where
    one.scoring_policy <> 'excluded'
    or measure = 'average_accuracy'
    or n_observations >= 0.8 * n_matched * case when measure = 'mastery' then 1 else 2 end
order by
    comparison, one.edition_id, other.edition_id, one.model_id, other.model_id, other.method, one.scoring_policy,
    one.repeat, one.period, other.period, part, relation, measure
