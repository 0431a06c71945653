-- Grain: one row per edition, origin, compared_with, side and test triplet.
-- The triplets that stale_beliefs compares: `own`, the facts of the origin, with the `other` ones, and their weights.
-- Kept and new facts are weighted so that they are as often of each relation, and their tails as common in the test (in
-- the classes of accuracy_by_group), as the facts of the origin. Facts without a counterpart are left out. The false
-- twins are those of the same pairs.
create or replace view storage.compared_changes as
with facts as (
    select
        edition_id, triplet_id, pair_id, is_positive,
        case
            when first_release in ('new', 'removed', 'reversed') then first_release
            when is_positive then 'kept'
            else 'twin'
        end as origin,
        count(*) over (partition by edition_id, relation, tail, is_positive) as n_of_tail,
        hash(relation, n_of_tail > 1, n_of_tail > 4) as stratum
    from triplets
    semi join (select edition_id from triplets where first_release in ('removed', 'reversed')) as changed
        using (edition_id)
    where split = 'test'
),

strata as (
    select edition_id, origin, stratum, count(*) as n
    from facts
    group by edition_id, origin, stratum
),

matched as (
    select own.edition_id, own.origin, other.origin as compared_with, stratum, own.n / other.n as weight
    from strata as own
    inner join strata as other using (edition_id, stratum)
    where
        own.origin in ('new', 'removed', 'reversed')
        and other.origin in ('kept', 'new')
        and own.origin <> other.origin
),

twins as (
    select edition_id, own.origin, own.triplet_id, twin.triplet_id as twin_id
    from facts as own
    inner join facts as twin using (edition_id, pair_id)
    where own.origin in ('new', 'removed') and twin.origin = 'twin'
),

compared as (
    select edition_id, origin, compared_with, 'own' as side, triplet_id, 1.0 as weight
    from facts
    inner join matched using (edition_id, origin, stratum)
    union all
    select edition_id, matched.origin, compared_with, 'other', triplet_id, weight
    from facts
    inner join matched using (edition_id, stratum)
    where facts.origin = compared_with
    union all
    select edition_id, origin, 'false twins', unnest(['own', 'other']), unnest([triplet_id, twin_id]), 1.0
    from twins
)

-- size: the weight in whole parts of 10⁹. n_most: to how many independent facts the weight amounts (Kish 1965).
select
    edition_id, origin, compared_with, side, triplet_id, pair_id, is_positive,
    round(1e9 * weight / sum(weight) over whole)::bigint as size,
    weight * sum(weight) over whole / sum(weight ** 2) over whole as n_most
from compared
inner join (select edition_id, triplet_id, pair_id, is_positive from facts) using (edition_id, triplet_id)
window whole as (partition by edition_id, origin, compared_with, side)
