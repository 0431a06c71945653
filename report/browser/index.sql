-- One file: the groups with what the filters need. forms: the form of each item.
with formed as (
    select position, list(form order by place) as forms
    from browsed_items
    group by position
)

select
    0 as number,
    to_json(list({
        'id': group_id, 'relation': relation, 'head': head, 'forms': forms,
        'is_asserted': is_asserted, 'age': age, 'taught': taught
    } order by position))::varchar as content
from browsed_groups
inner join formed using (position)
