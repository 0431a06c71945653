-- Grain: one row per edition, model, method, scoring policy, repeat and test sample; for anchors, per period too.
-- The outcome of the answer to each sample. All scores are sums over these rows. Evaluations with too many failed
-- prompts (is_evaluated of runs) have no rows, so that no view shows their scores.
-- run: a hash of what identifies the evaluation, which is faster to group by than names.
-- weight: as in answers. Averages count samples with their weight; what compares the samples of a triplet counts pairs
-- whose weights are all 1.
-- is_failed: no policy grades the sample, and it is not unanswered either. is_unanswered: coin-flip replaces it by a
-- guess, but its no-answer rate is still that of the responses.
create table sample_scores as
with counted as (
    select answers.*
    from answers
    semi join (from runs where setting is null and is_evaluated) as evaluated
        on (answers.edition_id, answers.model_id) = (evaluated.edition_id, evaluated.model_id)
        and answers.period is not distinct from evaluated.period
    where kind in ('samples', 'anchors')
),

placed as (
    select
        hash(edition_id, samples.sample_id) as sample,
        samples.method, samples.relation, samples.pair_id, transformation, samples.label,
        triplets.is_positive,
        samples.sample_index as slot
    from samples
    inner join triplets using (edition_id, triplet_id)
    where samples.split = 'test'
)

select
    hash(edition_id, period, model_id, method, scoring_policy, repeat) as run,
    edition_id, period, model_id, models.name as model, method, scoring_policy, repeat,
    relation, pair_id, is_positive, transformation, slot, label, weight,
    is_failed,
    answer is null and not is_failed as is_unanswered,
    is_unfinished_reasoning as is_unfinished, is_refused,
    prediction = 'T' as prediction, is_correct,
    case when isfinite(logprob_true) and isfinite(logprob_false) then logprob_true - logprob_false end as margin
from counted
inner join placed on hash(edition_id, item_id) = placed.sample
inner join models using (model_id)
