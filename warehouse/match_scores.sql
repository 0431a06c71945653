-- Two rows of pair_scores per pair in two editions (match_heads) that the same model was asked about by the same
-- method: those of the other edition have the prefix `other_`.
create macro match_scores(pairs) as table
select one.*, columns(other.*) as "other_\0"
from query_table(pairs) as pairs
inner join pair_scores as one on pairs.edition_id = one.edition_id and pairs.pair_id = one.pair_id
inner join pair_scores as other
    on pairs.other_edition_id = other.edition_id
    and pairs.other_pair_id = other.pair_id
    and one.model_id = other.model_id
    and one.method = other.method
    and one.scoring_policy = other.scoring_policy
    and one.repeat = other.repeat;
