-- One row per two editions of `compared` (edition_id, other_edition_id), relation and head that both test: its pair in
-- each of them.
create macro match_heads(compared) as table
with heads as (
    select edition_id, pair_id, relation, head
    from triplets
    where split = 'test' and is_positive
)

select edition_id, other_edition_id, one.pair_id, other.pair_id as other_pair_id
from query_table(compared) as compared
inner join heads as one using (edition_id)
inner join heads as other
    on compared.other_edition_id = other.edition_id and one.relation = other.relation and one.head = other.head;
