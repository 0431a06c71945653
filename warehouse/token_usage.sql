-- Grain: one row per edition and model; for anchors, one per period too.
-- The tokens that the edition's questions cost the model. Every (prompt, repeat) counts once, no matter how many
-- samples or scoring policies share it and which edition asked it first. n_unknown: prompts whose tokens the engine
-- did not count. A table, because it takes two seconds on 12 models × 272,000 samples.
create table token_usage as
with asked as (
    select edition_id, model_id, null::varchar as period, prompt_key, repeat from predictions
    union
    select edition_id, model_id, null as period, prompt_key, repeat from question_answers
    union
    select edition_id, model_id, period, prompt_key, repeat from anchor_predictions
),

asked_now as (
    select *
    from asked
    semi join storage.scope using (edition_id, model_id)
)

select
    asked.edition_id,
    asked.model_id,
    models.name as model,
    asked.period,
    count(*) as n_prompts,
    count(*) filter (where responses.status = 'error') as n_errors,
    count(*) filter (where responses.n_prompt_tokens is null) as n_unknown,
    coalesce(sum(responses.n_prompt_tokens), 0)::bigint as n_prompt_tokens,
    coalesce(sum(responses.n_completion_tokens), 0)::bigint as n_completion_tokens
from asked_now as asked
inner join models on asked.model_id = models.model_id
left join storage.responses as responses
    on asked.model_id = responses.model_id
    and asked.prompt_key = responses.prompt_key
    and asked.repeat = responses.repeat
group by asked.edition_id, asked.model_id, models.name, asked.period
order by asked.edition_id, asked.model_id, asked.period
