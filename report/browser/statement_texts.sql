-- One row per pair: its texts as JSON. The text of an attempt is null, and the statement from the template is true,
-- where they are the sample's own text.
with tried as (
    select
        attempts.variant_id,
        items.item_id,
        to_json(list(
            json_array(
                attempts.attempt,
                nullif(attempts.text, items.text),
                attempts.is_accepted,
                attempts.reasons
            ) order by attempts.attempt
        )) as attempts
    from browsed_items as items
    inner join attempts using (variant_id)
    where attempts.edition_id = $edition_id and $method = 'pretexeval'
    group by attempts.variant_id, items.item_id
),

written as (
    select
        items.position,
        to_json(list(
            json_array(
                items.item_id,
                items.text,
                if(browsed_statements.statement = items.text, to_json(true), to_json(browsed_statements.statement)),
                items.label,
                items.status,
                tried.attempts
            ) order by items.place
        )) as texts
    from browsed_items as items
    left join browsed_statements using (variant_id)
    left join tried using (item_id)
    group by items.position
)

select json_array(browsed_groups.shared, written.texts)::varchar
from browsed_groups
inner join written using (position)
order by position
