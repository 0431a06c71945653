-- One row per knowledge point with test questions: its position on the page, and what all its questions share.
-- Of more than $max_groups points, those come first that a model was asked about, and the relations take turns.
-- n_all: how many points there are.
create or replace temp table browsed_groups as
with points as (
    select
        point_id,
        any_value(pair_id) as pair_id,
        any_value(relation) as relation,
        any_value(head) as head
    from questions
    where edition_id = $edition_id and split = 'test'
    group by point_id
),

asked as (
    select distinct point_id from point_scores where edition_id = $edition_id
),

turns as (
    select
        points.*,
        asked.point_id is not null as is_asked,
        row_number() over (partition by relation, is_asked order by point_id) as turn
    from points
    left join asked using (point_id)
),

ordered as (
    select
        *,
        row_number() over (order by is_asked desc, turn, relation) as number,
        count(*) over () as n_all
    from turns
)

select
    row_number() over (order by relation, head nulls last, point_id) - 1 as position,
    point_id as group_id,
    n_all,
    relation,
    head,
    false as is_asserted,
    null::varchar as first_release,
    pair_id as statements_pair_id,
    json_array(point_id, head, pair_id) as shared
from ordered
where number <= $max_groups
