-- Grain: one row per edition, test point and reference model that was taught the edition's knowledge base.
-- The same as taught_pairs, for the points that are asked by questions: also those without a pair.
create or replace view storage.taught_points as
with facts as (
    select edition_id, point_id, relation, head
    from point_clusters
    where head is not null
)

select
    edition_id,
    model_id,
    point_id,
    relation,
    head,
    is_known,
    taught_with,
    is_as_taught
from match_taught('facts')
