-- One row per row of `facts` and reference model that was taught the edition's knowledge base: what the model was
-- taught about it (taught_pairs). `facts` names a query with edition_id, relation and head, and any other columns.
create macro match_taught(facts) as table
with known_heads as (
    select distinct model_id, known.relation, known.head, coalesce(known.wordings, 'pool') as taught_with
    from (select model_id, unnest(known_heads) as known from models)
),

asked as (
    select facts.*, kb, (configuration -> 'knowledge') ->> facts.relation as checksum
    from query_table(facts) as facts
    inner join editions using (edition_id)
),

reference_models as (
    select model_id, coalesce(taught_base ->> 'name', 'starter') as kb, taught_base -> 'checksums' as checksums
    from models
    where known_heads is not null
)

select
    asked.* exclude (kb, checksum),
    model_id,
    known_heads.head is not null as is_known,
    coalesce(taught_with, 'nothing') as taught_with,
    checksums is null or coalesce((checksums ->> relation) = checksum, false) as is_as_taught
from asked
inner join reference_models using (kb)
left join known_heads using (model_id, relation, head);
