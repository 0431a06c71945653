-- One row per key, facet, part and point: how many observations of the point are right, for estimate_shares.
-- Its key has the key, the position of the facet, and the part: 0 for the questions that are not negated, 1 for the
-- negated ones, and 2 for all of them.
-- `scores` names a query with one row per key and point_id: graded_bits, gained_bits and lost_bits, bit
-- sets as in point_scores (lost_bits: right only in the second of two scores; null for a single score), the
-- point's clusters and n_offered_options.
-- which: the parts that are needed.
-- The questions of a point are observations with both of its tails, like a pair as a whole. Of its revision
-- questions, a point has one observation, its debiased accuracy, in parts (macros.sql).
create macro observe_facets(scores, which := [0, 1, 2]) as table
with masked as (
    select
        struct_pack(scores.key, facets.position, parts.part) as key,
        facets.type = 'RQ' as is_revision,
        scores.point_id,
        head_cluster, positive_tail_cluster, negative_tail_cluster,
        n_offered_options as n_options,
        facet_bits(graded_bits, facets.position) & mask as graded,
        facet_bits(gained_bits, facets.position) & mask as gained,
        facet_bits(lost_bits, facets.position) & mask as lost
    from query_table(scores) as scores
    cross join facets
    inner join (values (0, 255::usmallint), (1, 65280::usmallint), (2, 65535::usmallint)) as parts (part, mask)
        on list_contains(which, parts.part)
)

select
    key,
    'accuracy' as measure,
    point_id,
    head_cluster, positive_tail_cluster, negative_tail_cluster,
    case
        when is_revision then
            revision_right(gained & 255, graded & 255, n_options)
            + revision_right(gained >> 8, graded >> 8, n_options)
        else bit_count(gained)
    end::integer as gained,
    case
        when is_revision then
            revision_right(lost & 255, graded & 255, n_options)
            + revision_right(lost >> 8, graded >> 8, n_options)
        else bit_count(lost)
    end::integer as lost,
    case
        when is_revision then
            revision_parts(graded & 255) + revision_parts(graded >> 8)
        else bit_count(graded)
    end::integer as n,
    case
        when is_revision then
            revision_size(graded & 255, n_options) + revision_size(graded >> 8, n_options)
        else bit_count(graded)
    end::double as n_most
from masked
where graded > 0;
