-- Grain: one row per edition, model, method, scoring policy, repeat and age of the fact.
-- first_release: the age of the pair's true triplet, which is the oldest release in `releases` of [knowledge] that
-- holds it, or `new` if none does. age_position: its position, from 1 for the oldest release; `new` comes last.
-- If no releases are given, it is what the query of the base says of the fact in its column since. Editions without
-- ages have no rows. The measures of the leaderboard over the samples and pairs of that age,
-- with the same intervals (leaderboard).
create or replace view accuracy_by_age as
with scored as (
    select pair_scores.*, triplets.first_release as part
    from pair_scores
    inner join triplets
        on
            pair_scores.edition_id = triplets.edition_id
            and pair_scores.pair_id = triplets.pair_id
            and triplets.is_positive
    where triplets.first_release is not null
),

releases as (
    select edition_id, from_json(configuration -> '$.releases.names', '["VARCHAR"]') as names
    from editions
)

select
    measured.edition_id,
    model_id,
    model,
    method,
    scoring_policy,
    repeat,
    part as first_release,
    coalesce(nullif(list_position(names, part), 0), len(names) + 1) as age_position,
    n_samples,
    n_pairs,
    average_accuracy, average_accuracy_ci_low, average_accuracy_ci_high,
    n_effective,
    n_complete_pairs,
    mastery, mastery_ci_low, mastery_ci_high,
    no_answer_rate,
    unfinished_reasoning_rate,
    true_rate,
    n_errors,
    error_rate
from measure_scores('scored', measures := ['average', 'mastery']) as measured
inner join releases on measured.edition_id = releases.edition_id
order by measured.edition_id, model, model_id, method, scoring_policy, repeat, age_position
