-- Grain: one row per two editions of the same base (each two once), model, method, policy and repeat.
-- The fall of the scores of a model from one edition to another, on the heads that both editions test. Each edition has
-- one pair per relation and head; the negative tails and the wording may differ. A fall on fresh text is the sign of a
-- leaked edition only if the editions were made alike. edition_id is the earlier edition; difference = its average
-- accuracy − the other's, likewise mastery_difference. Editions are in the order of period_start, those without one last;
-- then of their names.
-- Both averages count the samples (truth of the triplet and transformation) that are graded in both editions,
-- and the differences are paired by head (differences). Heads that share a tail in edition_id are correlated.
-- same_text_rate: of the other edition's test samples of the shared heads, the share whose text is in this
-- edition word for word (the same sample_id, which hashes triplet, transformation and text).
create or replace view edition_drift as
with same_texts as (
    select
        tested.edition_id,
        samples.edition_id as other_edition_id,
        samples.method,
        avg((same.sample_id is not null)::integer) as same_text_rate
    from triplets as tested
    inner join triplets as others
        on tested.relation = others.relation
        and tested.head = others.head
        and tested.edition_id <> others.edition_id
    inner join samples on others.edition_id = samples.edition_id and others.triplet_id = samples.triplet_id
    left join samples as same on tested.edition_id = same.edition_id and samples.sample_id = same.sample_id
    where tested.split = 'test' and tested.is_positive and samples.split = 'test'
    group by tested.edition_id, samples.edition_id, samples.method
)

select
    average.edition_id, average.other_edition_id, average.model_id, average.model, average.method,
    average.scoring_policy, average.repeat,
    average.n_matched as n_heads,
    average.n_observations as n_samples,
    same_texts.same_text_rate,
    average.score as average_accuracy, average.other_score as other_average_accuracy,
    average.difference, average.difference_se, average.difference_ci_low, average.difference_ci_high,
    average.p_value, average.n_effective,
    coalesce(mastery.n_observations, 0) as n_complete_heads,
    mastery.score as mastery, mastery.other_score as other_mastery,
    mastery.difference as mastery_difference,
    mastery.difference_ci_low as mastery_difference_ci_low,
    mastery.difference_ci_high as mastery_difference_ci_high,
    mastery.p_value as mastery_p_value
from differences as average
left join (from differences where measure = 'mastery') as mastery using (comparison, run, other_run)
left join same_texts
    on average.edition_id = same_texts.edition_id
    and average.other_edition_id = same_texts.other_edition_id
    and average.method = same_texts.method
where comparison = 'editions' and average.measure = 'average_accuracy'
order by
    average.edition_id, average.other_edition_id, average.model, average.model_id, average.method,
    average.scoring_policy, average.repeat
