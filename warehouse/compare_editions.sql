-- One row per model, method, scoring policy, repeat, relation (null: all of them) and measure: the same model in two
-- editions, on the pairs that both test (compare_parts).
-- A pair is in both editions if its true and its false triplet are; the texts may differ. difference = the score in
-- the first edition − that in the second. The view edition_drift compares the heads, whose false triplets may
-- differ too.
create macro compare_editions(first_edition, second_edition) as table
with pairs as (
    select
        edition_id,
        pair_id,
        any_value(triplet_id) filter (is_positive) as positive,
        any_value(triplet_id) filter (not is_positive) as negative
    from triplets
    where split = 'test' and edition_id in (first_edition, second_edition)
    group by edition_id, pair_id
),

shared as (
    select one.pair_id, other.pair_id as other_pair_id
    from pairs as one
    inner join pairs as other using (positive, negative)
    where one.edition_id = first_edition and other.edition_id = second_edition
),

matches as (
    select one.*, columns(other.*) as "other_\0"
    from shared
    inner join pair_scores as one on shared.pair_id = one.pair_id
    inner join pair_scores as other
        on shared.other_pair_id = other.pair_id
        and one.model_id = other.model_id
        and one.method = other.method
        and one.scoring_policy = other.scoring_policy
        and one.repeat = other.repeat
    where one.edition_id = first_edition and other.edition_id = second_edition
)

from compare_parts('matches');
