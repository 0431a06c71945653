-- Grain: one row per edition, method, scoring policy, repeat and two models (each two once).
-- The differences of two models on the samples that are graded for both. model_id is the id that sorts first;
-- difference = its average accuracy − the other's, likewise mastery_difference. An interval without 0 is the test that
-- the models differ: p_value is the level at which it meets 0. It combines the limits of gains and losses (Zou and
-- Donner 2008), so that it has a width even at a standard error of 0. holm_p_value allows for the number of pairs of
-- models in the edition (Holm 1979). With fewer than ten effective heads or tails (n_effective), there is no interval.
-- Mastery counts the pairs that are complete for both models. Under `excluded` it is null, with
-- their number, where these are less than 80 % of all pairs: they are the models' own selection.
create or replace view model_comparison as
with models_compared as (
    select * from differences where comparison = 'models' and relation is null
)

select
    average.edition_id,
    average.model_id, average.model, average.other_model_id, average.other_model,
    average.method, average.scoring_policy, average.repeat,
    average.n_observations as n_samples,
    average.n_pairs,
    average.score as average_accuracy, average.other_score as other_average_accuracy,
    average.difference, average.difference_se, average.difference_ci_low, average.difference_ci_high,
    average.difference_fixed_base_ci_low, average.difference_fixed_base_ci_high,
    average.p_value, average.holm_p_value,
    detectable(average.difference_ci_high - average.difference_ci_low) as detectable_difference,
    average.n_effective,
    case
        when average.scoring_policy = 'excluded' then mastery.n_observations
        else coalesce(mastery.n_observations, 0)
    end as n_complete_pairs,
    mastery.score as mastery, mastery.other_score as other_mastery,
    mastery.difference as mastery_difference,
    mastery.difference_ci_low as mastery_difference_ci_low,
    mastery.difference_ci_high as mastery_difference_ci_high,
    mastery.difference_fixed_base_ci_low as mastery_difference_fixed_base_ci_low,
    mastery.difference_fixed_base_ci_high as mastery_difference_fixed_base_ci_high,
    mastery.p_value as mastery_p_value, mastery.holm_p_value as mastery_holm_p_value,
    detectable(mastery.difference_ci_high - mastery.difference_ci_low) as detectable_mastery_difference,
    mastery.n_gained as n_mastered_alone,
    mastery.n_lost as n_other_mastered_alone,
    mastery.mcnemar_p, mastery.mcnemar_mid_p
from models_compared as average
left join (from models_compared where measure = 'mastery') as mastery using (run, other_run)
where average.measure = 'average_accuracy'
order by
    average.edition_id, average.model_id, average.other_model_id, average.method, average.scoring_policy,
    average.repeat
