-- Grain: one row per edition and test point.
-- The clusters of a point, as hashes like those in pair_clusters: its head, and the true and the false tail of
-- its pair, because these are a right and a wrong option of its questions. A point without a head (a question of
-- an exam) is a cluster of its own; the tails of a point without a pair are its own as well, so that its
-- interval has the point as the only cluster.
create or replace view storage.point_clusters as
with points as (
    select edition_id, point_id, any_value(columns(['pair_id', 'relation', 'head']))
    from questions
    where split = 'test'
    group by edition_id, point_id
)

select
    edition_id, point_id, pair_id, relation, head,
    hash(head is null, coalesce(lower(head), point_id)) as head_cluster,
    coalesce(positive_tail_cluster, hash(edition_id, point_id, true)) as positive_tail_cluster,
    coalesce(negative_tail_cluster, hash(edition_id, point_id, false)) as negative_tail_cluster
from points
left join storage.pair_clusters using (edition_id, pair_id)
