-- Grain: one row per edition and model; for anchors, one per period too.
-- The tokens that the edition's questions cost the model. Every (prompt, repeat) counts once, no matter how
-- many samples or scoring policies share it and which edition asked it first (token_counts.sql). period: in which a
-- schedule asked the anchors; null for an edition's own samples and questions.
-- n_unknown: prompts whose tokens the engine did not count. n_errors: prompts that failed.
create or replace view token_usage as
select
    token_counts.edition_id,
    token_counts.model_id,
    models.name as model,
    token_counts.n_prompts,
    token_counts.n_errors,
    token_counts.n_unknown,
    token_counts.n_prompt_tokens,
    token_counts.n_completion_tokens,
    token_counts.period
from token_counts
inner join models on token_counts.model_id = models.model_id
order by token_counts.edition_id, models.name, token_counts.model_id, token_counts.period
