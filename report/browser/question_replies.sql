-- One row per question that a model was asked in a setting, and repeat: what it replied. voted: the answer that most
-- repeats gave.
create or replace temp table browsed_replies as
with voted as (
    select item_id, any_value(prediction) filter (n_answers > 0) as voted
    from answers
    where kind = 'questions' and edition_id = $edition_id and model_id = $model_id and setting = $setting
    group by item_id
)

select
    answers.item_id,
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
from answers
left join voted using (item_id)
where
    answers.kind = 'questions'
    and answers.edition_id = $edition_id
    and answers.model_id = $model_id
    and answers.setting = $setting
qualify answers.scoring_policy = min(answers.scoring_policy) over ()
