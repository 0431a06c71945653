-- Grain: one row per edition, method, scoring policy and test triplet whose label most of the good models contradict.
-- A wrong fact of the base, or a false triplet that is true in the world, looks like this. So does an error that the
-- models share, so a person has to decide (`pretexeval review export EDITION --what disputed`).
-- A good model masters more pairs than the best shortcut beyond chance: mastery_above_shortcut_ci_low > 0 in the
-- leaderboard, in each of its repeats. The measure is mastery, because a model that guesses once per triplet and keeps
-- to its guess contradicts half of the labels in all forms, and only mastery tells it from a model that knows.
-- n_models: the good models with an answer to at least three quarters of the K samples of the triplet.
-- n_contradicting: those of them whose answers to at least three quarters of the samples are against the label (the
-- tolerance of suspect_facts). Repeats are added up. No answer is no contradiction, under any scoring policy.
-- At least two models and more than half of n_models contradict. Methods with one sample per triplet have no rows.
create or replace view disputed_facts as
with good_models as (
    select edition_id, model_id, method, scoring_policy
    from scores
    where grouping_by = 'edition' and method not in ('direct', 'origin')
    group by edition_id, model_id, method, scoring_policy
    having min(coalesce(mastery_above_shortcut_ci_low, 0)) > 0
),

by_model as (
    select
        edition_id, method, scoring_policy, pair_id, is_positive, model,
        8 * count(distinct repeat) as n_samples,
        4 * count(*) filter (prediction <> label and not is_unanswered) >= 3 * n_samples as is_contradicting
    from sample_scores
    inner join good_models using (edition_id, model_id, method, scoring_policy)
    where period is null
    group by edition_id, method, scoring_policy, pair_id, is_positive, model_id, model
    having 4 * count(prediction) filter (not is_unanswered) >= 3 * n_samples
),

disputed as (
    select
        edition_id, method, scoring_policy, pair_id, is_positive,
        count(*) as n_models,
        count(*) filter (is_contradicting) as n_contradicting,
        list(model order by model) filter (is_contradicting) as models
    from by_model
    group by edition_id, method, scoring_policy, pair_id, is_positive
    having n_contradicting >= 2 and 2 * n_contradicting > n_models
)

select
    edition_id, method, scoring_policy,
    triplets.relation, triplets.head, triplets.tail, is_positive,
    n_models, n_contradicting, n_contradicting / n_models as contradicting_rate, models,
    triplets.doubt, triplets.doubt_reason, triplets.triplet_id, pair_id
from disputed
inner join triplets using (edition_id, pair_id, is_positive)
order by
    edition_id, method, scoring_policy, contradicting_rate desc, n_contradicting desc,
    triplets.relation, triplets.head, triplets.triplet_id
