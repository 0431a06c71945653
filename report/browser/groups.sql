-- One row per group (pair or point) that is shown, at its position on the page. Of too many groups, those come first
-- that a model was asked about, and the relations take turns.
create or replace temp table browsed_groups as
with turns as (
    select
        *,
        count(*) over () as n_all,
        row_number() over (partition by relation, is_asked order by group_id) as turn
    from browsed_candidates
),

chosen as (
    from turns
    order by is_asked desc, turn, relation
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

select max(n_all) as n_all, count(*) as n_groups from browsed_groups
