-- Grain: one row per edition, model, method, scoring policy, repeat and test sample; for anchors, per period too.
-- What became of the answer to each sample. All scores are sums over these rows. Evaluations with too many failed
-- prompts (error_counts.sql) have no rows, so that no view shows their scores.
-- run: a hash of edition, period, model, method, scoring policy and repeat, which is faster to group by than their
-- names. fact: a hash of relation and head, which finds the same fact in another edition.
-- slot: the position of the transformation; for llmeval, which has no transformations, sample_index.
-- is_failed: the prompt has no response. No policy grades it, and it is not unanswered either.
-- is_unanswered: the response has no answer, under any policy. coin-flip replaces it by a guess, but its no-answer rate
-- is still that of the responses. is_unfinished: the model was still thinking when its tokens were used up.
-- is_correct: null if the sample is not graded. margin: the log-probability of True minus that of False, if both are
-- known.
create table sample_scores as
with evaluated as (
    select edition_id, null::varchar as period, model_id
    from error_counts
    where setting is null and is_evaluated
    union all
    select edition_id, period, model_id
    from runs
    where period is not null and n_errors <= max_error_rate * n_items * n_repeats
),

answered as (
    select null::varchar as period, * from predictions
    union all by name
    select * from anchor_predictions
),

counted as (
    select
        answered.*,
        hash(answered.edition_id, answered.period, answered.model_id, answered.repeat, answered.sample_id) as answer
    from answered
    semi join storage.scope using (edition_id, model_id)
    semi join evaluated
        on answered.edition_id = evaluated.edition_id
        and answered.model_id = evaluated.model_id
        and answered.period is not distinct from evaluated.period
),

placed as (
    select
        hash(samples.edition_id, samples.sample_id) as sample,
        samples.method,
        samples.relation,
        samples.pair_id,
        samples.transformation,
        samples.label,
        hash(samples.relation, triplets.head) as fact,
        triplets.is_positive,
        coalesce(transformations.position, samples.sample_index) as slot
    from samples
    semi join storage.scope using (edition_id)
    inner join triplets using (edition_id, triplet_id)
    left join transformations using (transformation)
    where samples.split = 'test'
)

select
    hash(
        counted.edition_id, counted.period, counted.model_id, placed.method, counted.scoring_policy, counted.repeat
    ) as run,
    counted.edition_id,
    counted.period,
    counted.model_id,
    models.name as model,
    placed.method,
    counted.scoring_policy,
    counted.repeat,
    placed.relation,
    placed.pair_id,
    placed.fact,
    placed.is_positive,
    placed.transformation,
    placed.slot,
    placed.label,
    counted.error is not null as is_failed,
    counted.answer in (select answer from counted where prediction is null and error is null) as is_unanswered,
    counted.is_unfinished_reasoning as is_unfinished,
    counted.prediction,
    counted.is_correct,
    case
        when isfinite(counted.logprob_true) and isfinite(counted.logprob_false)
            then counted.logprob_true - counted.logprob_false
    end as margin
from counted
inner join placed on hash(counted.edition_id, counted.sample_id) = placed.sample
inner join models using (model_id)
order by run, placed.relation, placed.pair_id, placed.is_positive, placed.slot
