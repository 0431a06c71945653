-- Grain: one row per edition, test pair and reference model that was taught the edition's knowledge base.
-- The card of a reference model lists the heads that it has learned, and the name and the checksums of the
-- base that it was taught. Editions of a base with another name have no rows, whatever their heads are called.
-- taught_with: `pool`: the model learned the head from sentences of the prototype pool; `other`: it never saw
-- a sentence of the pool about this relation; `nothing`: it did not learn the head.
-- is_as_taught: the facts of the relation have the checksum that the card names, so the model was taught just
-- these facts. A card that names no base, as cards did before, is taken to be about the base `starter` of any
-- checksum.
create or replace view taught_pairs as
with known_heads as (
    select distinct model_id, known.relation, known.head, coalesce(known.wordings, 'pool') as taught_with
    from (select model_id, unnest(known_heads) as known from models)
),

test_pairs as (
    select
        triplets.edition_id,
        triplets.pair_id,
        triplets.relation,
        triplets.head,
        editions.kb,
        editions.configuration -> 'knowledge' ->> triplets.relation as checksum
    from triplets
    inner join editions using (edition_id)
    where triplets.split = 'test' and triplets.is_positive
),

reference_models as (
    select
        model_id,
        coalesce(taught_base ->> 'name', 'starter') as kb,
        taught_base -> 'checksums' as checksums
    from models
    where known_heads is not null
)

select
    test_pairs.edition_id,
    reference_models.model_id,
    test_pairs.pair_id,
    test_pairs.relation,
    test_pairs.head,
    known_heads.head is not null as is_known,
    coalesce(known_heads.taught_with, 'nothing') as taught_with,
    reference_models.checksums is null
    or coalesce(reference_models.checksums ->> test_pairs.relation = test_pairs.checksum, false)
        as is_as_taught
from test_pairs
inner join reference_models using (kb)
left join known_heads using (model_id, relation, head)
