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
with matched as (
    select
        one.edition_id,
        one.model_id,
        other.model_id as other_model_id,
        one.method,
        one.scoring_policy,
        one.repeat,
        one.graded_bits & other.graded_bits as shared,
        bit_count(shared)::integer as n_shared,
        bit_count(one.correct_bits & shared)::integer as n_correct,
        bit_count(other.correct_bits & shared)::integer as n_other_correct,
        bit_count(one.correct_bits & ~other.correct_bits & shared)::integer as n_gained,
        bit_count(other.correct_bits & ~one.correct_bits & shared)::integer as n_lost,
        one.is_complete and other.is_complete as is_shared,
        (is_shared and one.is_mastered)::integer as mastered,
        (is_shared and other.is_mastered)::integer as other_mastered,
        one.n_asked,
        one.n_no_answer,
        other.n_asked as n_other_asked,
        other.n_no_answer as n_other_no_answer
    from pair_scores as one
    inner join pair_scores as other using (edition_id, method, scoring_policy, repeat, pair_id)
    where one.model_id < other.model_id
),

measured as (
    select
        edition_id,
        model_id,
        other_model_id,
        method,
        scoring_policy,
        repeat,
        sum(n_shared)::bigint as n_samples,
        n_clusters(n_shared) as n_pairs,
        share(n_correct, n_shared) as average_accuracy,
        effective_n(n_correct, n_shared, 1, sum(n_shared)) as n_effective,
        share(n_other_correct, n_shared) as other_average_accuracy,
        effective_n(n_other_correct, n_shared, 1, sum(n_shared)) as n_other_effective,
        paired(n_gained, n_lost, n_shared) as paired,
        sum(is_shared::integer)::bigint as n_complete_pairs,
        sum(mastered) / nullif(n_complete_pairs, 0) as mastery,
        sum(other_mastered) / nullif(n_complete_pairs, 0) as other_mastery,
        sum((mastered > other_mastered)::integer)::bigint as n_mastered_alone,
        sum((mastered < other_mastered)::integer)::bigint as n_other_mastered_alone,
        share(n_no_answer, n_asked) as no_answer_rate,
        share(n_other_no_answer, n_other_asked) as other_no_answer_rate
    from matched
    group by edition_id, model_id, other_model_id, method, scoring_policy, repeat
)

select
    edition_id,
    measured.model_id,
    models.name as model,
    other_model_id,
    other_models.name as other_model,
    method,
    scoring_policy,
    repeat,
    n_samples,
    n_pairs,
    average_accuracy,
    wilson_low(average_accuracy, n_effective) as ci_low,
    wilson_high(average_accuracy, n_effective) as ci_high,
    other_average_accuracy,
    wilson_low(other_average_accuracy, n_other_effective) as other_ci_low,
    wilson_high(other_average_accuracy, n_other_effective) as other_ci_high,
    paired.difference,
    paired.se as difference_se,
    paired_low(paired) as difference_ci_low,
    paired_high(paired) as difference_ci_high,
    n_complete_pairs,
    mastery,
    wilson_low(mastery, n_complete_pairs) as mastery_ci_low,
    wilson_high(mastery, n_complete_pairs) as mastery_ci_high,
    other_mastery,
    wilson_low(other_mastery, n_complete_pairs) as other_mastery_ci_low,
    wilson_high(other_mastery, n_complete_pairs) as other_mastery_ci_high,
    mastery - other_mastery as mastery_difference,
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
from measured
inner join models on measured.model_id = models.model_id
inner join models as other_models on measured.other_model_id = other_models.model_id
order by edition_id, model_id, other_model_id, method, scoring_policy, repeat
