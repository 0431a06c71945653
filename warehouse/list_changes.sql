-- One row per fact, negative, text and demonstration of two editions: whether it is in both.
-- item: `fact` (the true triplet of a test pair), `negative` (its false triplet), `text` (a test sample), or
-- `demonstration` (a sample that prompts may show).
-- change: `same` (in both editions), `gone` (only in the first), `new` (only in the second), or `replaced`: gone, but
-- the second edition has another one in its place, which is the same head for a fact or negative, and the same
-- triplet, method and transformation for a text. Texts are compared word for word.
-- tail, text: those of the first edition; other_tail, other_text: those of the second. Null where there is none.
create macro list_changes(first_edition, second_edition) as table
with items as materialized (
    select
        edition_id,
        case when is_positive then 'fact' else 'negative' end as item,
        triplet_id as id,
        relation,
        head,
        [relation, head] as place,
        tail,
        is_positive,
        null as method,
        null as transformation,
        null as text
    from triplets
    where split = 'test' and edition_id in (first_edition, second_edition)
    union all by name
    select
        samples.edition_id,
        case when samples.split = 'test' then 'text' else 'demonstration' end as item,
        samples.sample_id as id,
        samples.relation,
        triplets.head,
        [samples.triplet_id, samples.method, samples.sample_index::varchar] as place,
        triplets.tail,
        triplets.is_positive,
        samples.method,
        samples.transformation,
        samples.text
    from samples
    inner join triplets using (edition_id, triplet_id)
    where samples.edition_id in (first_edition, second_edition)
),

numbered as (
    select
        items.*,
        other.id is not null as is_same,
        -- A head has one pair in each edition. The number keeps rows apart that should not be there.
        row_number() over (
            partition by items.edition_id, items.item, items.place, is_same order by items.id
        ) as number
    from items
    left join items as other
        on items.item = other.item
        and items.id = other.id
        and other.edition_id = case
            when items.edition_id = first_edition then second_edition else first_edition
        end
),

paired as (
    select
        coalesce(one.item, other.item) as item,
        coalesce(one.relation, other.relation) as relation,
        case
            when one.is_same then 'same'
            when other.id is null then 'gone'
            when one.id is null then 'new'
            else 'replaced'
        end as change,
        coalesce(one.head, other.head) as head,
        coalesce(one.is_positive, other.is_positive) as is_positive,
        one.tail,
        other.tail as other_tail,
        coalesce(one.method, other.method) as method,
        coalesce(one.transformation, other.transformation) as transformation,
        one.text,
        other.text as other_text,
        coalesce(one.place, other.place) as place
    from (from numbered where edition_id = first_edition) as one
    full join (from numbered where edition_id = second_edition) as other
        on one.item = other.item
        and one.place = other.place
        and one.is_same = other.is_same
        and one.number = other.number
)

select
    item,
    relation,
    change,
    head,
    is_positive,
    tail,
    other_tail,
    method,
    transformation,
    text,
    other_text
from paired
order by
    list_position(['fact', 'negative', 'text', 'demonstration'], item),
    relation,
    list_position(['gone', 'replaced', 'new', 'same'], change),
    head,
    is_positive desc,
    place;
