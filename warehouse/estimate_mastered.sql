-- One row per key: the share of mastered points with its intervals (estimate_shares), of the points that have all
-- needed questions graded. `scores` names a query with one row per key and point: the columns of point_scores, key
-- and needed_bits.
create macro estimate_mastered(scores) as table
with observations as (
    select
        key,
        'mastered' as measure,
        head_cluster, positive_tail_cluster, negative_tail_cluster,
        (correct_bits & needed_bits = needed_bits)::integer as gained,
        1 as n
    from query_table(scores)
    where graded_bits & needed_bits = needed_bits
)

from estimate_shares('observations');
