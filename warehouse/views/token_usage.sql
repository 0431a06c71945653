-- Grain: one row per edition and model.
-- What the edition's questions cost the model: every (prompt, repeat) counted once, however many
-- samples or scoring policies share it, and whichever edition asked it first.
-- n_unknown: prompts whose tokens the engine did not count. n_errors: prompts that failed.
create or replace view token_usage as
with asked as (
    select distinct edition_id, model_id, prompt_key, repeat from predictions
)

select
    asked.edition_id,
    asked.model_id,
    models.name as model,
    count(*) as n_prompts,
    count(*) filter (where responses.status = 'error') as n_errors,
    count(*) filter (where responses.n_prompt_tokens is null) as n_unknown,
    coalesce(sum(responses.n_prompt_tokens), 0)::bigint as n_prompt_tokens,
    coalesce(sum(responses.n_completion_tokens), 0)::bigint as n_completion_tokens
from asked
inner join models on asked.model_id = models.model_id
left join responses
    on asked.model_id = responses.model_id
    and asked.prompt_key = responses.prompt_key
    and asked.repeat = responses.repeat
group by asked.edition_id, asked.model_id, models.name
order by asked.edition_id, models.name, asked.model_id
