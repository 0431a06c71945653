-- Grain: one row per edition, model and thing that gave answers to its evaluations of samples and of questions.
-- served: the model and its fingerprint as the endpoint reports them, or vLLM with its version, the device and
-- the precision. Several rows of one model: it changed while its answers were collected. None: its answers were
-- stored before this was recorded, or were read from a file.
create or replace view served_models as
with answered as (
    select distinct edition_id, model_id, unnest(served) as served
    from runs
    where period is null
)

select
    answered.edition_id,
    answered.model_id,
    models.name as model,
    answered.served
from answered
inner join models using (model_id)
order by edition_id, model, model_id, served
