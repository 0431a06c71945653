-- One row per point: its questions as JSON.
with written as (
    select position, to_json(list(shown order by place)) as texts
    from browsed_items
    group by position
)

select json_array(browsed_groups.shared, written.texts)::varchar
from browsed_groups
inner join written using (position)
order by position
