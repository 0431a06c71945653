-- Grain: one row per edition, model and thing that gave answers to its evaluation.
-- served: the model and its fingerprint as the endpoint reports them, or vLLM with its version, the device and
-- the precision. Several rows of one model: it changed while its answers were collected. None: its answers were
-- stored before this was recorded, or were read from a file.
create or replace view served_models as
select
    runs.edition_id,
    runs.model_id,
    models.name as model,
    unnest(runs.served) as served
from runs
inner join models using (model_id)
order by edition_id, model, model_id, served
