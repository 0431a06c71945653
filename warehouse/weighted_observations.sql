-- Grain: one row per edition, model, method, scoring policy, repeat, weighting, measure and test pair.
-- The pairs with their weights in weighted_accuracy, as estimate_shares needs them. Relations are strata (Cochran 1977,
-- chapter 5): a pair counts in the variance with its deviation from its own relation, times √(m/(m−1)) for the m pairs
-- of a stratum; relations with one pair are one stratum together. So each pair is observed with its weight in whole
-- parts of 10⁹, and with the mean plus that deviation.
-- n_most: to how many independent samples the weights amount. The share of a stratum is drawn towards the mean by one
-- observation here, because a large relation of which no pair is mastered would otherwise have no variance. If no
-- pair deviates, each pair is one observation.
-- average: the weighted mean. is_whole: every relation has a pair with a score.
create or replace view storage.weighted_observations as
with observed as (
    select
        run, edition_id, relation, head_cluster, positive_tail_cluster, negative_tail_cluster,
        unnest(['average', 'mastery']) as measure,
        unnest([n_positive_right, is_mastered::integer]) as gained,
        unnest([n_positive, is_complete::integer]) as n,
        unnest([n_negative_right, null]) as negative_gained,
        unnest([n_negative, null]) as negative_n
    from pair_scores
),

weights as (
    select
        edition_id, relation,
        unnest(['relations', 'pairs']) as weighting,
        unnest([1 / count(*) over edition, count(*) / sum(count(*)) over edition]) as weight
    from triplets
    where split = 'test' and is_positive
    group by edition_id, relation
    window edition as (partition by edition_id)
),

-- size: the weight of a sample.
weighed as (
    select
        *,
        {'run': run, 'weighting': weighting} as key,
        gained + coalesce(negative_gained, 0) as pair_gained,
        n + coalesce(negative_n, 0) as pair_n,
        weight / sum(pair_n) over part as size,
        weight / count(*) over part as pair_weight,
        case when count(*) over part > 1 then relation else '' end as stratum
    from observed
    inner join weights using (edition_id, relation)
    where n + coalesce(negative_n, 0) > 0
    window part as (partition by run, measure, weighting, relation)
),

deviating as (
    select
        *,
        sum(size * pair_gained) over whole as average,
        sum(size * pair_gained) over own / sum(size * pair_n) over own as share,
        (share * sum(pair_n) over own + average) / (sum(pair_n) over own + 1) as drawn_share,
        sqrt(count(*) over own / greatest(count(*) over own - 1, 1)) as spread
    from weighed
    window whole as (partition by key, measure), own as (partition by key, measure, stratum)
)

select
    key, measure, head_cluster, positive_tail_cluster, negative_tail_cluster,
    average,
    sum(size * pair_n) over whole > 1 - 1e-9 as is_whole,
    round(1e9 * size * (average * n + spread * (gained - share * n)))::bigint as gained,
    round(1e9 * size * n)::bigint as n,
    round(1e9 * size * (average * negative_n + spread * (negative_gained - share * negative_n)))::bigint
        as negative_gained,
    round(1e9 * size * negative_n)::bigint as negative_n,
    size * pair_n * case
        when max(abs(pair_gained - share * pair_n)) over whole > 1e-9 or count(*) filter (stratum = '') over whole > 1
            then average * (1 - average)
                / nullif(sum(size ** 2 * pair_n * drawn_share * (1 - drawn_share)) over whole, 0)
        else 1 / sum(pair_weight ** 2) over whole
    end as n_most
from deviating
window whole as (partition by key, measure)
