-- Grain: one row per edition, model, method, scoring policy, repeat and weighting.
-- Average accuracy and mastery over the relations of the edition, also where a model was asked different shares of
-- them (a budget, pairs_per_relation). weighting: `relations` is the mean over relations, each with the same weight;
-- `pairs` gives a relation the weight of its test pairs in the edition, so it estimates the measure over all of them
-- without bias. `facts` estimates the measure for a fact of the knowledge base: as `pairs`, but within a relation, common
-- and rare tails count as much as the base has of them (tail_commonness of the triplets).
-- The leaderboard counts every asked sample once instead; the intervals are like those there, with
-- relations as strata (storage.weighted_observations).
-- Null if a relation has no graded sample (for mastery: no complete pair), and where the leaderboard has no mastery.
create or replace view weighted_accuracy as
with observations as materialized (
    from storage.weighted_observations
),

estimates as materialized (
    from estimate_shares('observations')
),

averages as (
    select key, measure, any_value(average) as average
    from observations
    group by key, measure
    having bool_and(is_whole)
),

scores as (
    select * from averages inner join estimates using (key, measure)
)

select
    runs.edition_id, runs.model_id, runs.model, runs.method, runs.scoring_policy, runs.repeat,
    weightings.weighting,
    average.average as average_accuracy,
    average.ci_low as average_accuracy_ci_low,
    average.ci_high as average_accuracy_ci_high,
    average.fixed_base_ci_low as average_accuracy_fixed_base_ci_low,
    average.fixed_base_ci_high as average_accuracy_fixed_base_ci_high,
    average.n_effective,
    runs.n_pairs,
    mastery.average as mastery,
    mastery.ci_low as mastery_ci_low,
    mastery.ci_high as mastery_ci_high,
    mastery.fixed_base_ci_low as mastery_fixed_base_ci_low,
    mastery.fixed_base_ci_high as mastery_fixed_base_ci_high,
    runs.n_complete_pairs, runs.no_answer_rate, runs.n_errors, runs.error_rate
from part_scores as runs
cross join (values ('relations'), ('pairs'), ('facts')) as weightings (weighting)
left join scores as average
    on {'run': runs.run, 'weighting': weighting} = average.key and average.measure = 'average'
left join scores as mastery
    on {'run': runs.run, 'weighting': weighting} = mastery.key and mastery.measure = 'mastery'
    and runs.mastery is not null
where runs.grouping_by = 'edition'
order by
    runs.edition_id, runs.model, runs.model_id, runs.method, runs.scoring_policy, runs.repeat, weighting desc
