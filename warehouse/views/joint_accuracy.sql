-- Grain: one row per edition, model, method, scoring policy, repeat and unit (triplet, pair).
-- joint_accuracy: share of the units with every sample right (method, section 4; PretexEval): all K samples
-- by triplet, all 2K by pair (mastery). A model that answers from the polarity of the sentence alone gets 50
-- % by triplet and nothing by pair; one that tosses a coin per triplet and then answers consistently gets 50 %
-- by triplet and 25 % by pair.
-- n_units: the complete units. n_left_out: the edition's other units, where a triplet has fewer than K graded
-- samples (llmeval with too few usable lines or none; failed prompts; no answer under `excluded`).
-- n_samples: the samples of the complete units.
-- ci_low, ci_high: 95 % interval; with the pair as the cluster by triplet, plain Wilson by pair.
create or replace view joint_accuracy as
with test_pairs as (
    select edition_id, count(*) // 2 as n_test_pairs
    from triplets
    where split = 'test'
    group by edition_id
),

by_unit as (
    select
        edition_id,
        model_id,
        model,
        method,
        scoring_policy,
        repeat,
        'triplet' as unit,
        sum(n_triplets)::bigint as n_units,
        n_clusters(n_triplets) as n_pairs,
        share(n_triplets_right, n_triplets) as joint_accuracy,
        cluster_low(n_triplets_right, n_triplets) as ci_low,
        cluster_high(n_triplets_right, n_triplets) as ci_high,
        share(n_no_answer, n_asked - n_errors) as no_answer_rate,
        sum(n_errors)::bigint as n_errors,
        share(n_errors, n_asked) as error_rate
    from pair_scores
    group by edition_id, model_id, model, method, scoring_policy, repeat
    union all
    select
        edition_id,
        model_id,
        model,
        method,
        scoring_policy,
        repeat,
        'pair' as unit,
        count(*) filter (where is_complete) as n_units,
        count(*) filter (where is_complete) as n_pairs,
        share(is_mastered::integer, is_complete::integer) as joint_accuracy,
        wilson_low(joint_accuracy, n_units) as ci_low,
        wilson_high(joint_accuracy, n_units) as ci_high,
        share(n_no_answer, n_asked - n_errors) as no_answer_rate,
        sum(n_errors)::bigint as n_errors,
        share(n_errors, n_asked) as error_rate
    from pair_scores
    group by edition_id, model_id, model, method, scoring_policy, repeat
)

select
    edition_id,
    model_id,
    model,
    method,
    scoring_policy,
    repeat,
    unit,
    n_units,
    n_test_pairs * case unit when 'pair' then 1 else 2 end - n_units as n_left_out,
    n_pairs,
    n_units * samples_per_triplet(method) * case unit when 'pair' then 2 else 1 end as n_samples,
    joint_accuracy,
    ci_low,
    ci_high,
    no_answer_rate,
    n_errors,
    error_rate
from by_unit
inner join test_pairs using (edition_id)
order by edition_id, model, model_id, method, scoring_policy, repeat, unit desc
