-- Grain: one row per edition, test pair and grouping_by.
-- The groups of pairs that accuracy_by_group compares, which explains them.
create or replace view storage.pair_groups as
with pairs as (
    select
        edition_id, relation, pair_id,
        bool_or(is_asserted and not is_positive) as is_asserted,
        any_value(first_release) filter (is_positive) as first_release,
        any_value(head_frequency) as head_frequency,
        any_value(tail_frequency) filter (is_positive) as tail_frequency
    from triplets
    where split = 'test'
    group by edition_id, relation, pair_id
),

counted as (
    select
        edition_id, pair_id,
        unnest(['tail commonness', 'head commonness']) as grouping_by,
        unnest([tail_frequency, head_frequency]) as n
    from pairs
),

releases as (
    select edition_id, from_json(configuration -> '$.releases.names', '["VARCHAR"]') as names
    from editions
)

select
    edition_id, pair_id, 'negative' as grouping_by,
    case when is_asserted then 'asserted' else 'not in the base' end as group_name,
    1 + is_asserted::integer as group_position
from pairs
union all
select
    edition_id, pair_id, 'release', first_release,
    coalesce(nullif(list_position(names, first_release), 0), len(names) + 1)
from pairs
inner join releases using (edition_id)
where first_release is not null
union all
select
    edition_id, pair_id, grouping_by,
    case when n = 1 then 'once' when n < 5 then '2 to 4 times' else '5 times or more' end,
    1 + (n > 1)::integer + (n > 4)::integer
from counted
