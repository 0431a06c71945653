-- Grain: one row per edition, model, scoring policy, repeat and test sample.
-- Everything about one prediction, including the text of the reply, for an analyst.
-- reasoning: what the model thought before its answer, from the endpoint or from the marks in the response.
-- The accuracy views do not read this view: they come from sample_scores.
create or replace view prediction_details as
select
    answers.edition_id, answers.model_id, models.name as model,
    samples.method, samples.rephraser, samples.relation,
    triplets.head, triplets.tail, triplets.is_positive,
    samples.pair_id, samples.triplet_id, samples.sample_id,
    samples.transformation,
    samples.label <> triplets.is_positive as is_negated,
    samples.text, samples.label,
    answers.scoring_policy, answers.repeat, answers.weight,
    answers.prediction = 'T' as prediction, answers.is_correct,
    answers.prediction is not null as has_answer,
    answers.is_failed,
    answers.is_unfinished_reasoning,
    answers.is_refused,
    answers.response, answers.reasoning, answers.error,
    answers.logprob_true, answers.logprob_false,
    answers.prompt_key, answers.n_demonstrations_dropped
from answers
inner join samples
    on answers.edition_id = samples.edition_id and answers.item_id = samples.sample_id
inner join triplets
    on samples.edition_id = triplets.edition_id and samples.triplet_id = triplets.triplet_id
inner join models on answers.model_id = models.model_id
where answers.kind = 'samples' and samples.split = 'test'
