-- Grain: one row per edition, model, method, scoring policy, repeat and unit (triplet, pair).
-- joint_accuracy: share of the units with every sample right (method, section 4; PretexEval): all K samples
-- by triplet, all 2K by pair (mastery). A model that answers from the polarity of the sentence alone gets 50
-- % by triplet and nothing by pair; one that tosses a coin per triplet and then answers consistently gets 50 %
-- by triplet and 25 % by pair.
-- n_units: the complete units. n_left_out: the edition's other units, where a triplet has fewer than K graded
-- samples (llmeval with too few usable lines or none; failed prompts; no answer under `excluded`).
-- left_out_rate: of the units about which the model was asked, the share that is not complete. Above 0.2,
-- joint_accuracy under `excluded` is null: the complete units are a selection (measure_scores).
-- n_samples: the samples of the complete units.
-- Intervals: as in the leaderboard.
create or replace view joint_accuracy as
with test_pairs as (
    select edition_id, count(*) // 2 as n_test_pairs
    from triplets
    where split = 'test'
    group by edition_id
),

scored as (
    select *, 'all' as part
    from pair_scores
),

measured as materialized (
    from measure_scores('scored', measures := ['joint', 'mastery'])
),

by_unit as (
    select
        measured.*,
        'triplet' as unit,
        n_triplets as n_units,
        n_triplet_pairs as n_unit_pairs,
        left_out_rate as unit_left_out_rate,
        joint_accuracy as accuracy,
        joint_ci_low as low,
        joint_ci_high as high,
        joint_fixed_base_ci_low as fixed_low,
        joint_fixed_base_ci_high as fixed_high,
        joint_n_effective as n_unit_effective
    from measured
    union all
    select
        measured.*,
        'pair' as unit,
        n_complete_pairs as n_units,
        n_complete_pairs as n_unit_pairs,
        pair_left_out_rate as unit_left_out_rate,
        mastery as accuracy,
        mastery_ci_low as low,
        mastery_ci_high as high,
        mastery_fixed_base_ci_low as fixed_low,
        mastery_fixed_base_ci_high as fixed_high,
        mastery_n_effective as n_unit_effective
    from measured
)

select
    edition_id, model_id, model, method, scoring_policy, repeat,
    unit,
    n_units,
    n_test_pairs * case unit when 'pair' then 1 else 2 end - n_units as n_left_out,
    unit_left_out_rate as left_out_rate,
    n_unit_pairs as n_pairs,
    n_units * k * case unit when 'pair' then 2 else 1 end as n_samples,
    accuracy as joint_accuracy,
    low as ci_low,
    high as ci_high,
    fixed_low as fixed_base_ci_low,
    fixed_high as fixed_base_ci_high,
    n_unit_effective as n_effective,
    no_answer_rate,
    n_errors,
    error_rate
from by_unit
inner join test_pairs using (edition_id)
order by edition_id, model, model_id, method, scoring_policy, repeat, unit desc
