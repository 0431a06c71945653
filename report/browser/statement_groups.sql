-- One row per test pair with samples of the method: its position on the page, and what all its samples share.
-- Of more than $max_groups pairs, those come first that a model was asked about, and the relations take turns.
-- n_all: how many pairs there are.
create or replace temp table browsed_groups as
with pairs as (
    select
        pair_id,
        any_value(relation) as relation,
        any_value(head) as head,
        any_value(head_id) as head_id,
        max(tail) filter (where is_positive) as true_tail,
        max(tail_id) filter (where is_positive) as true_tail_id,
        max(triplet_id) filter (where is_positive) as true_triplet_id,
        max(tail) filter (where not is_positive) as false_tail,
        max(tail_id) filter (where not is_positive) as false_tail_id,
        max(triplet_id) filter (where not is_positive) as false_triplet_id,
        coalesce(bool_or(is_asserted), false) as is_asserted,
        any_value(first_release) filter (where is_positive) as first_release
    from triplets
    where edition_id = $edition_id and split = 'test'
    group by pair_id
),

sampled as (
    select distinct pair_id from samples where edition_id = $edition_id and method = $method and split = 'test'
),

asked as (
    select distinct pair_id from pair_scores where edition_id = $edition_id and method = $method
),

turns as (
    select
        pairs.*,
        asked.pair_id is not null as is_asked,
        row_number() over (partition by relation, is_asked order by pair_id) as turn
    from pairs
    semi join sampled using (pair_id)
    left join asked using (pair_id)
),

ordered as (
    select
        *,
        row_number() over (order by is_asked desc, turn, relation) as number,
        count(*) over () as n_all
    from turns
)

select
    row_number() over (order by relation, head, pair_id) - 1 as position,
    pair_id as group_id,
    n_all,
    relation,
    head,
    is_asserted,
    first_release,
    null as statements_pair_id,
    json_array(
        pair_id,
        head,
        head_id,
        true_tail,
        true_tail_id,
        true_triplet_id,
        false_tail,
        false_tail_id,
        false_triplet_id,
        is_asserted
    ) as shared
from ordered
where number <= $max_groups
