-- Grain: one row per edition, set of facets and is_negated_included.
-- The sets of facets under which a point can be mastered. facet_set: a number whose bit k stands for the facet at
-- position k. needed_bits: the questions (question_slots) that a point needs, which are all that the edition asks
-- about any point in these facets. Sets with a facet of which the edition has no question have no rows.
create table facet_sets as
with sets as (
    select
        sets.range::integer as facet_set,
        negations.is_negated_included,
        count(*) as n_facets,
        list(facets.facet order by facets.place) as facets,
        bit_or(affirmed_bits) as affirmed_bits,
        bit_or(if(negations.is_negated_included, affirmed_bits | negated_bits, affirmed_bits)) as bits
    from range(1, 16) as sets
    cross join (values (false), (true)) as negations (is_negated_included)
    inner join facets on (sets.range >> facets.position) & 1 = 1
    group by sets.range, negations.is_negated_included
),

editions_asked as (
    select distinct edition_id, edition_bits
    from point_clusters
)

select
    editions_asked.edition_id,
    sets.facet_set,
    sets.is_negated_included,
    sets.n_facets,
    sets.facets,
    editions_asked.edition_bits & sets.bits as needed_bits
from editions_asked
inner join facets on editions_asked.edition_bits & facets.affirmed_bits > 0
inner join sets on (sets.facet_set >> facets.position) & 1 = 1
group by all
having count(*) = sets.n_facets
order by edition_id, facet_set, is_negated_included
