-- Grain: one row per two editions of the same base (each two once), model, method, policy and repeat.
-- How far the scores of a model fell from one edition to another, on the heads that both editions test. Each
-- edition has one pair per relation and head; the negative tails and the wording may differ. A fall on fresh
-- text is the sign of a leaked edition. edition_id is the earlier edition; difference = its average accuracy − the
-- other's, likewise mastery_difference. Editions are in the order of period_start, those without one last; then of
-- their names.
-- Both averages count the samples (truth of the triplet and transformation) that are graded in both editions,
-- and the differences are paired by head (compare_scores.sql). Heads that share a tail in
-- edition_id are correlated.
-- same_text_rate: of the other edition's test samples of the shared heads, the share whose text is in this
-- edition word for word (the same sample_id, which hashes triplet, transformation and text).
create or replace view edition_drift as
with ordered as (
    select edition_id, kb, coalesce(period_start, date 'infinity') as period_start
    from editions
),

compared as (
    select one.edition_id, other.edition_id as other_edition_id
    from ordered as one
    inner join ordered as other using (kb)
    where (one.period_start, one.edition_id) < (other.period_start, other.edition_id)
),

shared_heads as materialized (
    from match_heads('compared')
),

texts as (
    select
        shared_heads.edition_id,
        shared_heads.other_edition_id,
        samples.method,
        (before.sample_id is not null)::integer as is_same
    from shared_heads
    inner join samples
        on shared_heads.other_edition_id = samples.edition_id
        and shared_heads.other_pair_id = samples.pair_id
    left join samples as before
        on shared_heads.edition_id = before.edition_id
        and samples.sample_id = before.sample_id
    where samples.split = 'test'
),

same_texts as (
    select edition_id, other_edition_id, method, avg(is_same) as same_text_rate
    from texts
    group by edition_id, other_edition_id, method
),

matches as (
    from match_scores('shared_heads')
)

select
    compared.edition_id,
    compared.other_edition_id,
    compared.model_id,
    compared.model,
    compared.method,
    compared.scoring_policy,
    compared.repeat,
    compared.n_matched as n_heads,
    compared.n_samples,
    same_texts.same_text_rate,
    compared.average_accuracy, compared.average_accuracy_ci_low, compared.average_accuracy_ci_high,
    compared.other_average_accuracy,
    compared.other_average_accuracy_ci_low,
    compared.other_average_accuracy_ci_high,
    compared.difference,
    compared.difference_se,
    compared.difference_ci_low,
    compared.difference_ci_high,
    compared.n_effective,
    compared.n_complete as n_complete_heads,
    compared.mastery, compared.mastery_ci_low, compared.mastery_ci_high,
    compared.other_mastery,
    compared.other_mastery_ci_low,
    compared.other_mastery_ci_high,
    compared.mastery_difference,
    compared.mastery_difference_ci_low,
    compared.mastery_difference_ci_high,
    compared.no_answer_rate,
    compared.other_no_answer_rate,
    compared.error_rate,
    compared.other_error_rate
from compare_scores('matches') as compared
left join same_texts using (edition_id, other_edition_id, method)
order by edition_id, other_edition_id, model, model_id, method, scoring_policy, repeat
