-- Grain: one row per edition, method, scoring policy, repeat and two models (each two once).
-- How far two models differ on the samples that are graded for both. model_id is the id that sorts first;
-- difference = its average accuracy − the other's, likewise mastery_difference.
-- Intervals have the pair as the cluster. difference_se = √(m/(m−1) · Σ (d − Dn)² / N²), where d is how many
-- more of its n samples a pair has right by model_id than by the other, D = Σd/N, and m is the number of
-- pairs (0 if d is the same in all). The limits are not D ± 1.96 se: they combine the limits of gains and
-- losses (Zou and Donner 2008), so that the interval has a width even at se = 0 (macros.sql, paired).
-- Mastery counts the pairs that are complete for both models; its difference has the pair as the unit.
-- mcnemar_p: McNemar's exact test of mastery (1947), two-sided: the probability of a split at least as uneven
-- of the pairs that only one model masters (n_mastered_alone + n_other_mastered_alone), if each of these
-- pairs were equally likely to go to either model.
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
    average_accuracy,
    ci_low,
    ci_high,
    other_average_accuracy,
    other_ci_low,
    other_ci_high,
    difference,
    difference_se,
    difference_ci_low,
    difference_ci_high,
    n_complete as n_complete_pairs,
    mastery,
    mastery_ci_low,
    mastery_ci_high,
    other_mastery,
    other_mastery_ci_low,
    other_mastery_ci_high,
    mastery_difference,
    unit_low(n_mastered_alone, n_other_mastered_alone, n_complete_pairs)
        as mastery_difference_ci_low,
    unit_high(n_mastered_alone, n_other_mastered_alone, n_complete_pairs)
        as mastery_difference_ci_high,
    n_mastered_alone,
    n_other_mastered_alone,
    case when n_complete_pairs > 0 then mcnemar_p(n_mastered_alone, n_other_mastered_alone) end
        as mcnemar_p,
    case when n_complete_pairs > 0 then mcnemar_mid_p(n_mastered_alone, n_other_mastered_alone) end
        as mcnemar_mid_p,
    no_answer_rate,
    other_no_answer_rate,
    n_errors,
    n_other_errors,
    error_rate,
    other_error_rate
from compare_scores('matches')
order by edition_id, model_id, other_model_id, method, scoring_policy, repeat
