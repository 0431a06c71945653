-- One file per $n_per_file groups: for each of them what its items share, and its items.
with written as (
    select position, list(shown order by place) as items
    from browsed_items
    group by position
)

select
    position // $n_per_file as number,
    to_json(list({'shared': browsed_groups.shown, 'items': written.items} order by position))::varchar as content
from browsed_groups
inner join written using (position)
group by number
order by number
