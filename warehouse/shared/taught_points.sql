-- Grain: one row per edition, test point and reference model that was taught the edition's knowledge base.
-- The same as taught_pairs, for the points that are asked by questions: also those without a pair.
create or replace view storage.taught_points as
with facts as (
    select edition_id, point_id, relation, head
    from storage.point_clusters
    where head is not null
)

from match_taught('facts')
