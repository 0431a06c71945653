-- Grain: one row per two editions of the same base (each two once), model, method, policy and repeat.
-- How far the scores of a model fell from one edition to another, on the heads that both editions test. Each
-- edition has one pair per relation and head; the negative tails and the wording may differ. A fall on fresh
-- text is the sign of a leaked edition. edition_id is the earlier edition; difference = its average accuracy − the
-- other's, likewise mastery_difference. Editions are in the order of period_start, those without one last; then of
-- their names.
-- Both averages count the samples (truth of the triplet and transformation) that are graded in both editions,
-- and the differences are paired by head (paired_scores). Heads that share a tail in
-- edition_id are correlated.
-- same_text_rate: of the other edition's test samples of the shared heads, the share whose text is in this
-- edition word for word (the same sample_id, which hashes triplet, transformation and text).
create or replace view edition_drift as
with shared_samples as (
    select
        before.edition_id,
        samples.edition_id as other_edition_id,
        samples.method,
        samples.relation,
        samples.sample_id,
        triplets.head
    from samples
    inner join triplets using (edition_id, triplet_id)
    inner join triplets as before
        on triplets.relation = before.relation
        and triplets.head = before.head
        and triplets.edition_id <> before.edition_id
    where samples.split = 'test' and before.split = 'test' and before.is_positive
),

same_texts as (
    select
        shared.edition_id,
        shared.other_edition_id,
        shared.method,
        avg((before.sample_id is not null)::integer) as same_text_rate
    from shared_samples as shared
    left join samples as before
        on shared.edition_id = before.edition_id and shared.sample_id = before.sample_id
    group by shared.edition_id, shared.other_edition_id, shared.method
),

average as (
    select * from paired_scores where comparison = 'editions' and measure = 'average_accuracy'
),

mastery as (
    select * from paired_scores where comparison = 'editions' and measure = 'mastery'
)

select
    average.edition_id,
    average.other_edition_id,
    average.model_id,
    average.model,
    average.method,
    average.scoring_policy,
    average.repeat,
    average.n_matched as n_heads,
    average.n_observations as n_samples,
    same_texts.same_text_rate,
    average.score as average_accuracy,
    average.other_score as other_average_accuracy,
    average.difference,
    average.difference_se,
    average.difference_ci_low,
    average.difference_ci_high,
    average.n_effective,
    coalesce(mastery.n_observations, 0) as n_complete_heads,
    mastery.score as mastery,
    mastery.other_score as other_mastery,
    mastery.difference as mastery_difference,
    mastery.difference_ci_low as mastery_difference_ci_low,
    mastery.difference_ci_high as mastery_difference_ci_high
from average
left join mastery using (run, other_run)
left join same_texts
    on
        average.edition_id = same_texts.edition_id
        and average.other_edition_id = same_texts.other_edition_id
        and average.method = same_texts.method
order by
    average.edition_id, average.other_edition_id, average.model, average.model_id, average.method,
    average.scoring_policy, average.repeat
