-- Grain: one row per edition, reference model, method, scoring policy, repeat and contradicted triplet.
-- Taught facts that a reference model contradicts: of the K samples of the triplet at most a quarter are
-- right, so the model knows this head and says the opposite of the label. A wrong fact in the base, or a
-- false triplet that is true, looks like this. A model that merely does not know gets about half right.
-- Unlike in accuracy_by_group, relations whose facts have changed since the model was taught are included
-- (is_as_taught is false), because a wrong fact is such a change.
-- n_taught: the triplets of learned heads that were looked at; suspect_rate: the contradicted share of them.
create or replace view suspect_facts as
with answered as (
    select
        pair_scores.*,
        taught_pairs.head, taught_pairs.taught_with, taught_pairs.is_as_taught,
        unnest([true, false]) as is_positive,
        unnest([
            case when n_positive = k then n_positive_right end, case when n_negative = k then n_negative_right end
        ]) as n_right
    from pair_scores
    inner join storage.taught_pairs using (edition_id, model_id, pair_id)
    where taught_pairs.is_known
),

counted as (
    select
        *,
        n_right <= k / 4 and k > 1 as is_suspect,
        count(n_right) over (partition by run) as n_taught,
        count(*) filter (is_suspect) over (partition by run) / n_taught as suspect_rate
    from answered
)

select
    edition_id, counted.model_id, counted.model, counted.method, counted.scoring_policy, counted.repeat,
    counted.relation, counted.head, triplets.tail, is_positive,
    counted.taught_with, counted.is_as_taught, counted.n_right, counted.n_taught, counted.suspect_rate
from counted
inner join triplets using (edition_id, pair_id, is_positive)
where counted.is_suspect
order by
    edition_id, counted.model, counted.model_id, counted.method, counted.scoring_policy, counted.repeat,
    counted.relation, counted.head, is_positive desc
