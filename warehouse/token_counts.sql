-- Grain: one row per edition, model and period; the period is null except for anchors.
-- The view token_usage reads this table. It is a table, like pair_scores, because finding the distinct
-- prompts of millions of predictions and their responses takes two seconds on 12 models × 272,000 samples,
-- and the result never changes.
create table token_counts as
with asked as (
    select edition_id, model_id, null::varchar as period, prompt_key, repeat from predictions
    union
    select edition_id, model_id, null as period, prompt_key, repeat from question_answers
    union
    select edition_id, model_id, period, prompt_key, repeat from anchor_predictions
)

select
    asked.edition_id,
    asked.model_id,
    asked.period,
    count(*) as n_prompts,
    count(*) filter (where responses.status = 'error') as n_errors,
    count(*) filter (where responses.n_prompt_tokens is null) as n_unknown,
    coalesce(sum(responses.n_prompt_tokens), 0)::bigint as n_prompt_tokens,
    coalesce(sum(responses.n_completion_tokens), 0)::bigint as n_completion_tokens
from asked
left join responses
    on asked.model_id = responses.model_id
    and asked.prompt_key = responses.prompt_key
    and asked.repeat = responses.repeat
group by asked.edition_id, asked.model_id, asked.period
order by asked.edition_id, asked.model_id, asked.period
