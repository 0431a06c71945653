-- Grain: one row per edition, test pair and reference model that was taught the edition's knowledge base.
-- The card of a reference model lists the heads that it has learned, and the name and the checksums of the base that it
-- was taught. Editions of a base with another name have no rows, whatever their heads are called. taught_with: `pool`:
-- the model learned the head from sentences of the prototype pool; `other`: it never saw a sentence of the pool about
-- this relation; `nothing`: it did not learn the head.
-- is_as_taught: the facts of the relation have the checksum that the card names, so the model was taught just these
-- facts. A card that names no base is taken to be about the base `starter` of any checksum.
create or replace view storage.taught_pairs as
with facts as (
    select edition_id, pair_id, relation, head
    from triplets
    where split = 'test' and is_positive
)

from match_taught('facts')
