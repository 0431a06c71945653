-- Grain: one row per edition, model, role (evaluated, anchors, rephraser, judge, panel, llmeval) and period of anchors.
-- What the tokens of token_usage cost at the prices that were configured when the model was asked. Every distinct
-- prompt and repeat counts once, also if another edition asked it first, so the costs of several editions may add up
-- to more than was paid.
-- evaluated: the edition's samples and questions, at the price in the record of the latest evaluation that has one.
-- anchors: likewise what a schedule asked in a period; edition_id is the edition of anchors.
-- rephraser: the rewordings that were tried, at the price in the record of the model.
-- judge, panel, llmeval: what the judge of rewordings, the rephraser about the panel and the writer of llmeval were
-- asked, from writer_tokens, which is filled when the edition is published with its own configuration.
-- cost: null without a price. n_unknown: prompts whose tokens are not in it.
create or replace view cost as
with prices as (
    select edition_id, model_id, period, price_input, price_output, price_currency
    from runs
    where price_input is not null
    qualify
        row_number() over (
            partition by edition_id, model_id, period
            order by finished_at desc nulls last
        ) = 1
),

reworded as (
    select distinct edition_id, rephraser as model_id, prompt_key
    from attempts
),

used as (
    select
        token_usage.edition_id,
        token_usage.model_id,
        token_usage.period,
        case when token_usage.period is null then 'evaluated' else 'anchors' end as role,
        token_usage.n_prompts,
        token_usage.n_unknown,
        token_usage.n_prompt_tokens,
        token_usage.n_completion_tokens,
        prices.price_input,
        prices.price_output,
        prices.price_currency
    from token_usage
    left join prices
        on
            token_usage.edition_id = prices.edition_id
            and token_usage.model_id = prices.model_id
            and token_usage.period is not distinct from prices.period
    union all
    select
        reworded.edition_id,
        reworded.model_id,
        null as period,
        'rephraser' as role,
        count(*) as n_prompts,
        count(*) - count(responses.n_prompt_tokens) as n_unknown,
        coalesce(sum(responses.n_prompt_tokens), 0)::bigint as n_prompt_tokens,
        coalesce(sum(responses.n_completion_tokens), 0)::bigint as n_completion_tokens,
        any_value(models.price_input) as price_input,
        any_value(models.price_output) as price_output,
        any_value(models.price_currency) as price_currency
    from reworded
    inner join models on reworded.model_id = models.model_id
    left join storage.responses as responses
        on
            reworded.model_id = responses.model_id
            and reworded.prompt_key = responses.prompt_key
            and responses.repeat = 0
    group by reworded.edition_id, reworded.model_id
    union all
    select
        edition_id,
        model_id,
        null as period,
        role,
        n_prompts,
        n_unknown,
        n_prompt_tokens,
        n_completion_tokens,
        price_input,
        price_output,
        price_currency
    from writer_tokens
)

select
    used.edition_id,
    used.model_id,
    models.name as model,
    used.role,
    used.n_prompts,
    used.n_unknown,
    used.n_prompt_tokens,
    used.n_completion_tokens,
    used.price_input,
    used.price_output,
    used.price_currency,
    (used.n_prompt_tokens * used.price_input + used.n_completion_tokens * used.price_output) / 1e6 as cost,
    used.period
from used
inner join models on used.model_id = models.model_id
order by used.edition_id, used.role, models.name, used.model_id, used.period
