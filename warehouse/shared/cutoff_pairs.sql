-- Grain: one row per edition, model with a training cutoff, and test pair whose fact was listed before or after it.
-- is_before: a release of the cutoff's day or earlier holds the true fact. If it is false, the last release without the
-- fact is of that day or later. Other facts have no row, nor do editions whose releases are not named by dates.
create or replace view storage.cutoff_pairs as
with releases as (
    select edition_id, from_json(configuration -> '$.releases.names', '["VARCHAR"]') as names
    from editions
),

listed as (
    select
        edition_id, pair_id,
        try_cast(first_release as date) as listed_at,
        try_cast(
            names[
                case first_release when 'new' then len(names) else list_position(names, first_release) - 1 end
            ] as date
        ) as lacking_at
    from triplets
    inner join releases using (edition_id)
    where split = 'test' and is_positive
)

select edition_id, model_id, pair_id, coalesce(listed_at <= training_cutoff, false) as is_before
from listed
inner join models on listed_at <= training_cutoff or lacking_at >= training_cutoff
