-- Grain: one row per edition, setting, model, scoring policy, test question and repeat.
-- Everything about one answer, down to the prompt and the text of the reply, for an analyst: select by point_id or
-- question_id.
create or replace view facet_details as
select
    answers.edition_id,
    answers.setting,
    answers.model_id,
    models.name as model,
    answers.scoring_policy,
    questions.relation,
    questions.head,
    questions.point_id,
    questions.pair_id,
    questions.question_id,
    questions.facet,
    questions.type,
    questions.is_negated,
    questions.text,
    questions.options,
    questions.offered,
    questions.answer,
    answers.prediction,
    answers.is_correct,
    answers.n_answers,
    answers.n_agreeing,
    answers.repeat,
    answers.answer as repeat_answer,
    answers.rule,
    answers.response,
    answers.reasoning,
    answers.is_unfinished_reasoning,
    answers.is_refused,
    answers.error,
    responses.prompt,
    answers.prompt_key,
    answers.n_demonstrations_dropped,
    questions.source
from answers
inner join questions on answers.edition_id = questions.edition_id and answers.item_id = questions.question_id
inner join models on answers.model_id = models.model_id
left join responses
    on
        answers.model_id = responses.model_id
        and answers.prompt_key = responses.prompt_key
        and answers.repeat = responses.repeat
where answers.kind = 'questions' and questions.split = 'test'
