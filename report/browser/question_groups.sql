-- One row per chosen knowledge point: its position on the page, and what all its questions share.
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
)

select
    row_number() over (order by relation, head nulls last, point_id) - 1 as position,
    point_id as group_id,
    relation,
    head,
    false as is_asserted,
    null::varchar as first_release,
    pair_id as statements_pair_id,
    json_array(point_id, head, pair_id) as shared
from points
semi join browsed_choice on points.point_id = browsed_choice.group_id
