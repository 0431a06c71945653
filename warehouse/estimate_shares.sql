-- One row per key and measure: a share, or a paired difference, with its 95 % intervals.
-- `observations` names a query with one row per key, measure and test pair:
--   key, measure: of any type;
--   head_cluster, positive_tail_cluster, negative_tail_cluster: the pair's clusters (pair_clusters.sql);
--   gained, lost, n: of the n observations of the positive triplet, how many are right, with lost null; for a
--     difference, how many are right only in the first score (gained), and only in the second (lost);
--   negative_gained, negative_lost, negative_n: likewise of the negative triplet. All three are null if the
--     pair is observed as a whole (mastery); gained, lost and n are then those of the pair;
--   n_most: the number of independent observations of the pair at most; by default all of them.
--   The columns that may be null may also be missing.
-- fixed_base_ci_low, fixed_base_ci_high: with the pair as the only cluster (intervals.sql).
-- ci_low, ci_high: pairs that share a head or a tail are correlated too, so the variance is two-way cluster-robust
-- (Cameron, Gelbach and Miller 2011): V = V_head + V_tail − V_both, at least V_head, V_tail and V_pair. A triplet has
-- one tail. A pair as a whole has two, so its V_tail is that of dyads (Aronow, Samii and Assenova 2015), in which pairs
-- that share both tails count once. The residual of each head and tail is divided by 1 − its share of the observations,
-- as in the jackknife (CR3; Bell and McCaffrey 2002): with few or very uneven clusters V is too small otherwise.
-- inflation: V / V_pair, rounded, because the order in which threads add numbers up changes its last digits,
-- and effective_n gives another interval for 1 + 1e-16 than for 1.
-- n_effective: the effective number (Kish 1965) of heads or of tails, whichever is smaller. n_rare: the same,
-- but at most the effective number over which the right observations are spread, or the wrong ones (for a
-- difference: those that differ, or those that agree).
create macro estimate_shares(observations) as table
with observed as materialized (
    select
        key, measure, hash(key, measure) as id,
        head_cluster, positive_tail_cluster, negative_tail_cluster,
        lost is not null as is_difference, negative_n is null as is_whole,
        gained + coalesce(negative_gained, 0) as pair_gained,
        coalesce(lost, 0) + coalesce(negative_lost, 0) as pair_lost,
        n + coalesce(negative_n, 0) as pair_size, coalesce(n_most, pair_size) as pair_most,
        gained - coalesce(lost, 0) as positive_net, gained + coalesce(lost, 0) as positive_changed, n as positive_size,
        coalesce(negative_gained, gained) - coalesce(negative_lost, lost, 0) as negative_net,
        coalesce(negative_gained, gained) + coalesce(negative_lost, lost, 0) as negative_changed,
        coalesce(negative_n, n) as negative_size
    from (
        select
            null::integer as lost, null::integer as negative_gained, null::integer as negative_lost,
            null::integer as negative_n, null::integer as n_most
        where false
        union all by name
        from query_table(observations)
    )
    where pair_size > 0
),

summed as (
    select
        id,
        any_value(columns(['key', 'measure', 'is_whole'])),
        bool_or(is_difference) as is_difference,
        paired(pair_gained, pair_lost, pair_size, pair_most) as paired,
        sum(pair_size)::double as total,
        cluster_spread(pair_gained - pair_lost, pair_size)::double as unscaled_spread,
        sum((positive_size > 0)::integer + (negative_size > 0)::integer) as n_triplets,
        sum(positive_net * positive_net + negative_net * negative_net)::double as nets,
        sum(positive_net * positive_size + negative_net * negative_size)::double as products,
        sum(positive_size * positive_size + negative_size * negative_size)::double as sizes
    from observed
    group by id
),

totals as materialized (
    select
        id, key, measure, is_difference, paired, total,
        unscaled_spread / total ** 2 * leave_out(1 / paired.gained.n_clusters) as pair_spread,
        case
            when is_whole then pair_spread
            else (nets - 2 * paired.difference * products + paired.difference ** 2 * sizes) * leave_out(1 / n_triplets)
        end as both_spread
    from summed
),

-- These whole numbers are exact as doubles too, which are added up faster than hugeints.
clusters as (
    select
        id, 'head' as kind, sum((pair_gained - pair_lost)::double) as net,
        sum((pair_gained + pair_lost)::double) as changed, sum(pair_size::double) as size
    from observed
    group by id, head_cluster
    union all
    select id, 'tail', sum(net::double), sum(changed::double), sum(size::double)
    from (
        select
            id, positive_tail_cluster as tail, positive_net as net, positive_changed as changed, positive_size as size
        from observed
        union all
        select id, negative_tail_cluster, negative_net, negative_changed, negative_size
        from observed
    )
    group by id, tail
    union all
    select id, 'both tails', sum((pair_gained - pair_lost)::double), 0, sum(pair_size::double)
    from observed
    where is_whole
    group by
        id, least(positive_tail_cluster, negative_tail_cluster), greatest(positive_tail_cluster, negative_tail_cluster)
),

kinds as (
    select
        id, kind,
        sum((net - paired.difference * size) ** 2 * leave_out(size / total)) as spread,
        effective_number(size) as n_effective,
        least(n_effective, effective_number(changed), effective_number(size - changed)) as n_rare
    from clusters
    inner join totals using (id)
    group by id, kind
),

spreads as (
    select
        id,
        max(spread) filter (kind = 'head') as head,
        max(spread) filter (kind = 'tail') - coalesce(max(spread) filter (kind = 'both tails'), 0) as tail,
        min(n_effective) filter (kind <> 'both tails') as n_effective,
        min(n_rare) filter (kind <> 'both tails') as n_rare
    from kinds
    group by id
),

inflated as (
    select
        *,
        case
            when pair_spread > 0
                then round(greatest(head + tail - both_spread, head, tail, pair_spread) / pair_spread, 9)
            else 1.0
        end as inflation
    from totals
    inner join spreads using (id)
),

sized as (
    select
        *,
        paired.gained.share as gained, paired.lost.share as lost, paired.correlation as r,
        effective_n(paired.gained, inflation, n_rare) as n_gained,
        effective_n(paired.lost, inflation, n_rare) as n_lost,
        effective_n(paired.gained) as n_fixed_gained, effective_n(paired.lost) as n_fixed_lost
    from inflated
)

select
    key, measure,
    total::bigint as n_observations,
    paired.gained.n_clusters::bigint as n_pairs,
    paired.difference as share, paired.se * sqrt(inflation) as se,
    limit_low(is_difference, gained, lost, n_gained, n_lost, r) as ci_low,
    limit_high(is_difference, gained, lost, n_gained, n_lost, r) as ci_high,
    limit_low(is_difference, gained, lost, n_fixed_gained, n_fixed_lost, r) as fixed_base_ci_low,
    limit_high(is_difference, gained, lost, n_fixed_gained, n_fixed_lost, r) as fixed_base_ci_high,
    n_effective, n_rare, inflation
from sized;
