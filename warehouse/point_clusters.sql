-- Grain: one row per edition and test point.
-- The clusters of a point, as hashes like those in pair_clusters: its head, and the true and the false tail of
-- its pair, because these are a right and a wrong option of its questions. A point without a head (a question of
-- an exam) is a cluster of its own; the tails of a point without a pair are its own as well, so that its
-- interval has the point as the only cluster. asked_bits: its questions (question_slots). edition_bits: those
-- that a point of the edition can have; a point lacks questions where its own bits are fewer.
-- n_offered_options: the options of its revision questions.
create table point_clusters as
with points as (
    select
        edition_id,
        point_id,
        any_value(columns(['pair_id', 'relation', 'head'])),
        bit_or(bit) as asked_bits,
        max(n_options) filter (where type = 'RQ') as n_offered_options
    from question_slots
    group by edition_id, point_id
)

select
    points.*,
    bit_or(asked_bits) over (partition by edition_id) as edition_bits,
    hash(head is null, coalesce(lower(head), point_id)) as head_cluster,
    coalesce(pairs.positive_tail_cluster, hash(edition_id, point_id, true)) as positive_tail_cluster,
    coalesce(pairs.negative_tail_cluster, hash(edition_id, point_id, false)) as negative_tail_cluster
from points
left join pair_clusters as pairs using (edition_id, pair_id)
order by edition_id, point_id
