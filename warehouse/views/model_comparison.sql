-- Grain: one row per edition, method, scoring policy, repeat and two models (each two once).
-- What tells two models apart, on the samples graded for both. model_id is the one that comes
-- first; difference = its average accuracy − the other's, likewise mastery_difference.
-- Each average with its interval, pair as the cluster; of the difference too (macros.sql, paired):
-- difference_se = √(m/(m−1) · Σ (d − Dn)² / N²), d = how many more of its n samples a pair has right
-- by the one than by the other, D = Σd/N, m pairs (0 where d is alike in all); the limits are not
-- D ± 1.96 se but joined from those of gains and losses (Zou and Donner 2008), with a width at 0.
-- Mastery is of the pairs complete for both, its difference the same with the pair as the unit.
-- McNemar's exact test of it (1947), two-sided: of n_mastered_alone + n_other_mastered_alone pairs
-- that one masters and the other does not, how likely is a split as uneven if either were as likely.
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
    other_no_answer_rate
from compare_scores('matches')
order by edition_id, model_id, other_model_id, method, scoring_policy, repeat
