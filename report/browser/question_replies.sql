-- One row per question and repeat: what the model replied to it in the setting. voted: the answer that most
-- repeats gave.
create or replace temp table browsed_replies as
with voted as (
    select question_id, any_value(prediction) filter (n_answers > 0) as voted
    from question_predictions
    where edition_id = $edition_id and model_id = $model_id and setting = $setting
    group by question_id
)

select
    items.position,
    items.place,
    items.text,
    answers.repeat,
    responses.prompt,
    answers.response,
    answers.reasoning,
    answers.error,
    null::double as logprob_true,
    null::double as logprob_false,
    answers.n_demonstrations_dropped,
    answers.answer,
    answers.rule,
    voted.voted
from browsed_items as items
inner join question_answers as answers
    on answers.edition_id = $edition_id
    and answers.model_id = $model_id
    and answers.setting = $setting
    and answers.question_id = items.item_id
left join voted on items.item_id = voted.question_id
left join responses
    on responses.model_id = $model_id
    and answers.prompt_key = responses.prompt_key
    and answers.repeat = responses.repeat
