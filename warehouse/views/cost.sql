-- Grain: one row per edition, model, role (evaluated, anchors, rephraser) and period of anchors.
-- The cost of the tokens of runs and writers at the prices that were configured when the model was asked. Every distinct
-- prompt and repeat counts once, also if another edition asked it first, so the costs of several editions may add up
-- to more than was paid.
-- evaluated: the edition's samples, with two answers or three, and its questions, at the price in the record of the
-- latest evaluation that has one.
-- anchors: likewise what a schedule asked in a period; edition_id is the edition of anchors.
-- rephraser: the rewordings that were tried, at the price in the record of the model.
-- What a judge, a panel and the writer of llmeval cost is not in it, because no stage names their prompts.
-- seconds_per_prompt: of the last session of every evaluation, samples and questions together.
create or replace view cost as
with summed_runs as (
    select
        edition_id, model_id, period,
        sum(columns(['n_prompts', 'n_unknown', 'n_prompt_tokens', 'n_completion_tokens', 'n_asked']))::bigint,
        sum(duration_s) as duration_s
    from runs
    group by edition_id, model_id, period
),

priced_runs as (
    select distinct on (edition_id, model_id, period)
        edition_id, model_id, period, price_input, price_output
    from runs
    where price_input is not null
    order by edition_id, model_id, period, finished_at desc nulls last
),

reworded as (
    select distinct edition_id, rephraser as model_id, prompt_key from attempts
),

used as (
    select
        summed.*,
        case when summed.period is null then 'evaluated' else 'anchors' end as role,
        price_input, price_output
    from summed_runs as summed
    left join priced_runs as prices
        on summed.edition_id = prices.edition_id
        and summed.model_id = prices.model_id
        and summed.period is not distinct from prices.period
    union all by name
    select
        edition_id, model_id, 'rephraser' as role,
        count(*) as n_prompts,
        count(*) - count(responses.n_prompt_tokens) as n_unknown,
        coalesce(sum(responses.n_prompt_tokens), 0)::bigint as n_prompt_tokens,
        coalesce(sum(responses.n_completion_tokens), 0)::bigint as n_completion_tokens,
        any_value(price_input) as price_input,
        any_value(price_output) as price_output
    from reworded
    inner join models using (model_id)
    left join (from storage.responses where repeat = 0) as responses using (model_id, prompt_key)
    group by edition_id, model_id
)

select
    edition_id, model_id, models.name as model, role,
    n_prompts, n_unknown, n_prompt_tokens, n_completion_tokens,
    used.price_input, used.price_output,
    (n_prompt_tokens * used.price_input + n_completion_tokens * used.price_output) / 1e6 as cost,
    n_asked, duration_s, duration_s / nullif(n_asked, 0) as seconds_per_prompt,
    period
from used
inner join models using (model_id)
order by edition_id, role, model, model_id, period
