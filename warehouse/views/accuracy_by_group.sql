-- Grain: one row per edition, model, method, scoring policy, repeat, grouping_by and group_name.
-- The measures of the leaderboard over groups of pairs, with the same intervals. grouping_by is one of:
-- `negative`: whether the base asserts that the false twin is false (`also_false`: asserted) or does not state it (not
-- in the base: a closed world). negative_accuracy counts only the samples of the false twins.
-- `release`: the oldest release in `releases` of [knowledge] that holds the true fact, or `new` if none does; without
-- releases, what the base's query says in its column since. Editions without ages have no such rows.
-- `tail commonness`, `head commonness`: how many test pairs of the edition have the true tail in the relation, and how
-- many have the head in any relation. What is asked often in a base is mostly what is written about often.
-- group_position: the order of the groups of one kind.
create or replace view accuracy_by_group as
with pairs as (
    select
        edition_id,
        pair_id,
        bool_or(is_asserted and not is_positive) as is_asserted,
        any_value(first_release) filter (is_positive) as first_release,
        count(*) over (
            partition by edition_id, relation, lower(any_value(tail) filter (is_positive))
        ) as n_with_tail,
        count(*) over (partition by edition_id, lower(any_value(head))) as n_with_head
    from triplets
    where split = 'test'
    group by edition_id, relation, pair_id
),

releases as (
    select edition_id, from_json(configuration -> '$.releases.names', '["VARCHAR"]') as names
    from editions
),

groups as (
    select
        edition_id, pair_id,
        'negative' as grouping_by,
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
        edition_id, pair_id, kind || ' commonness',
        case when n = 1 then 'once' when n < 5 then '2 to 4 times' else '5 times or more' end,
        1 + (n > 1)::integer + (n > 4)::integer
    from (
        select edition_id, pair_id, 'tail' as kind, n_with_tail as n from pairs
        union all
        select edition_id, pair_id, 'head' as kind, n_with_head as n from pairs
    )
),

scored as (
    select pair_scores.*, struct_pack(grouping_by, group_name, group_position) as part
    from pair_scores
    inner join groups using (edition_id, pair_id)
)

select
    edition_id, model_id, model, method, scoring_policy, repeat,
    part.grouping_by as grouping_by,
    part.group_name as group_name,
    part.group_position as group_position,
    n_complete_pairs,
    mastery, mastery_ci_low, mastery_ci_high,
    n_samples,
    n_pairs,
    average_accuracy, average_accuracy_ci_low, average_accuracy_ci_high,
    n_effective,
    negative_accuracy,
    no_answer_rate,
    unfinished_reasoning_rate,
    true_rate,
    n_errors,
    error_rate
from measure_scores('scored', measures := ['average', 'mastery'])
order by edition_id, model, model_id, method, scoring_policy, repeat, grouping_by, group_position
