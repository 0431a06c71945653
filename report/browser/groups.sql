-- One row per group (pair or point) that is shown, at its position on the page: first those that a model was asked
-- about, then others at random, as the ids are hashes.
create or replace temp table browsed_groups as
with chosen as (
    from browsed_candidates
    order by is_asked desc, group_id
    limit $n_groups
)

select *, row_number() over (order by relation, head nulls last, group_id) - 1 as position
from chosen;

-- One row per sample or question of these groups. place: its position in its group.
create or replace temp table browsed_items as
select
    browsed_groups.position,
    row_number() over (partition by browsed_groups.position order by items.form, items.rank) - 1 as place,
    items.* exclude (rank)
from browsed_candidate_items as items
inner join browsed_groups using (group_id)
order by browsed_groups.position, place;

-- The counts, and hashes of the groups and of their items.
select
    (select count(*) from browsed_candidates) as n_all,
    count(*) as n_groups,
    bit_xor(hash(browsed_groups)) as of_groups,
    (select bit_xor(hash(browsed_items)) from browsed_items) as of_items
from browsed_groups
