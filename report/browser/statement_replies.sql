-- One row per sample of the method and repeat: what the model replied to it, under any of the scoring policies.
create or replace temp table browsed_replies as
with replied as (
    select
        sample_id,
        repeat,
        prompt_key,
        n_demonstrations_dropped,
        response,
        reasoning,
        error,
        logprob_true,
        logprob_false
    from predictions
    where edition_id = $edition_id and model_id = $model_id
    qualify scoring_policy = min(scoring_policy) over ()
)

select
    items.position,
    items.place,
    items.text,
    replied.repeat,
    responses.prompt,
    replied.response,
    replied.reasoning,
    replied.error,
    replied.logprob_true,
    replied.logprob_false,
    replied.n_demonstrations_dropped,
    null::varchar as answer,
    null::varchar as rule,
    null::varchar as voted
from browsed_items as items
inner join replied on items.item_id = replied.sample_id
left join responses
    on responses.model_id = $model_id
    and replied.prompt_key = responses.prompt_key
    and replied.repeat = responses.repeat
