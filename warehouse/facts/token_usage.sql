-- Grain: one row per edition and model; for anchors, one per period too.
-- The tokens that the edition's questions cost the model. Every (prompt, repeat) counts once, no matter how many
-- samples or scoring policies share it and which edition asked it first. n_unknown: prompts whose tokens the engine
-- did not count. A table, because it takes two seconds on 12 models × 272,000 samples.
create table token_usage as
with asked as (
    select distinct edition_id, model_id, period, prompt_key, repeat
    from answers
)

select
    edition_id, model_id, models.name as model, period,
    count(*) as n_prompts,
    count(*) filter (where responses.status = 'error') as n_errors,
    count(*) filter (where responses.n_prompt_tokens is null) as n_unknown,
    coalesce(sum(responses.n_prompt_tokens), 0)::bigint as n_prompt_tokens,
    coalesce(sum(responses.n_completion_tokens), 0)::bigint as n_completion_tokens
from asked
inner join models using (model_id)
left join storage.responses as responses using (model_id, prompt_key, repeat)
group by edition_id, model_id, models.name, period
order by edition_id, model_id, period
