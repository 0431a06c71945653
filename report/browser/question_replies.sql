-- One row per question that a model was asked in a setting, and repeat: what it replied. voted: the answer that most
-- repeats gave.
create or replace temp table browsed_replies as
with voted as (
    select question_id, any_value(prediction) filter (n_answers > 0) as voted
    from question_predictions
    where edition_id = $edition_id and model_id = $model_id and setting = $setting
    group by question_id
)

select
    answers.question_id as item_id,
    answers.repeat,
    answers.prompt_key,
    answers.n_demonstrations_dropped,
    answers.response,
    answers.reasoning,
    answers.error,
    null::double as logprob_true,
    null::double as logprob_false,
    answers.answer,
    answers.rule,
    voted.voted
from question_answers as answers
left join voted using (question_id)
where answers.edition_id = $edition_id and answers.model_id = $model_id and answers.setting = $setting
