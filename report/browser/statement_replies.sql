-- One row per sample that a model was asked, and repeat: what it replied, under any of the scoring policies.
create or replace temp table browsed_replies as
select
    item_id,
    repeat,
    prompt_key,
    n_demonstrations_dropped,
    response,
    reasoning,
    error,
    logprob_true,
    logprob_false,
    null::varchar as answer,
    null::varchar as rule,
    null::varchar as voted
from answers
where kind = 'samples' and edition_id = $edition_id and model_id = $model_id
qualify scoring_policy = min(scoring_policy) over ()
