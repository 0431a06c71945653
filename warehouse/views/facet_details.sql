-- Grain: one row per edition, setting, model, scoring policy, test question and repeat.
-- Everything about one answer, down to the prompt and the text of the reply, for an analyst: select by point_id or
-- question_id. prediction: the answer that most repeats gave, n_agreeing of the n_answers repeats with an answer.
-- repeat_answer, rule: the answer that was read in this repeat's response, and which rule found it.
-- is_correct is null where every repeat failed (error) and where the scoring policy excludes the question.
create or replace view facet_details as
select
    predictions.edition_id,
    predictions.setting,
    predictions.model_id,
    models.name as model,
    predictions.scoring_policy,
    questions.relation,
    questions.head,
    questions.point_id,
    questions.pair_id,
    predictions.question_id,
    questions.facet,
    questions.type,
    questions.is_negated,
    questions.text,
    questions.options,
    questions.offered,
    questions.answer,
    predictions.prediction,
    predictions.is_correct,
    predictions.n_answers,
    predictions.n_agreeing,
    answers.repeat,
    answers.answer as repeat_answer,
    answers.rule,
    answers.response,
    answers.reasoning,
    answers.is_unfinished_reasoning,
    answers.is_refused,
    coalesce(predictions.error, answers.error) as error,
    responses.prompt,
    answers.prompt_key,
    answers.n_demonstrations_dropped,
    questions.source
from question_predictions as predictions
inner join questions using (edition_id, question_id)
inner join models using (model_id)
inner join question_answers as answers using (edition_id, setting, model_id, question_id)
left join responses
    on
        answers.model_id = responses.model_id
        and answers.prompt_key = responses.prompt_key
        and answers.repeat = responses.repeat
where questions.split = 'test'
