-- One row per test sample of the method. form: a number for the transformation and the tail. place: the sample's
-- position in its pair.
create or replace temp table browsed_items as
with placed as (
    select
        browsed_groups.position,
        samples.sample_id as item_id,
        samples.text,
        samples.label,
        samples.variant_id,
        samples.status,
        coalesce(transformations.position, samples.sample_index)
        + if(triplets.is_positive, 0, 8) as form
    from samples
    inner join triplets using (edition_id, triplet_id)
    inner join browsed_groups on samples.pair_id = browsed_groups.group_id
    left join transformations using (transformation)
    where samples.edition_id = $edition_id and samples.method = $method and samples.split = 'test'
)

select *, row_number() over (partition by position order by form, item_id) - 1 as place
from placed
order by position, place
