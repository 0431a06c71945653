-- Grain: one row per edition, method, scoring policy, repeat and two models (each two once).
-- How far two models differ on the samples that are graded for both. model_id is the id that sorts first;
-- difference = its average accuracy − the other's, likewise mastery_difference. An interval without 0 is the test that
-- the models differ. It is not D ± 1.96 difference_se: it combines the limits of gains and losses (Zou and Donner
-- 2008), so that it has a width even at a standard error of 0.
-- Mastery counts the pairs that are complete for both models. Under `excluded` it is null where these are less
-- than 80 % of all pairs: they are the models' own selection.
-- detectable_difference: the smallest true difference that would be found with a power of 80 % (macros.sql).
-- mcnemar_p: McNemar's exact test of mastery (1947), two-sided, with the base held fixed.
create or replace view model_comparison as
with matches as (
    select one.*, columns(other.*) as "other_\0"
    from pair_scores as one
    inner join pair_scores as other using (edition_id, method, scoring_policy, repeat, pair_id)
    where one.model_id < other.model_id
)

select
    edition_id,
    model_id,
    model,
    other_model_id,
    other_model,
    method,
    scoring_policy,
    repeat,
    n_samples,
    n_pairs,
    average_accuracy, average_accuracy_ci_low, average_accuracy_ci_high,
    other_average_accuracy,
    other_average_accuracy_ci_low,
    other_average_accuracy_ci_high,
    difference,
    difference_se,
    difference_ci_low,
    difference_ci_high,
    difference_fixed_base_ci_low,
    difference_fixed_base_ci_high,
    n_effective,
    n_complete as n_complete_pairs,
    mastery, mastery_ci_low, mastery_ci_high,
    other_mastery,
    other_mastery_ci_low,
    other_mastery_ci_high,
    mastery_difference,
    mastery_difference_ci_low,
    mastery_difference_ci_high,
    mastery_difference_fixed_base_ci_low,
    mastery_difference_fixed_base_ci_high,
    detectable(difference_ci_high - difference_ci_low) as detectable_difference,
    detectable(mastery_difference_ci_high - mastery_difference_ci_low) as detectable_mastery_difference,
    n_mastered_alone,
    n_other_mastered_alone,
    case when mastery_difference is not null then mcnemar_p(n_mastered_alone, n_other_mastered_alone) end
        as mcnemar_p,
    case when mastery_difference is not null then mcnemar_mid_p(n_mastered_alone, n_other_mastered_alone) end
        as mcnemar_mid_p,
    no_answer_rate,
    other_no_answer_rate,
    error_rate,
    other_error_rate
from compare_scores('matches')
order by edition_id, model_id, other_model_id, method, scoring_policy, repeat
