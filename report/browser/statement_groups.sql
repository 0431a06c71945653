-- One row per chosen test pair: its position on the page, and what all its samples share.
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
)

select
    row_number() over (order by relation, head, pair_id) - 1 as position,
    pair_id as group_id,
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
from pairs
semi join browsed_choice on pairs.pair_id = browsed_choice.group_id
