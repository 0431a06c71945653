-- Grain: one row per edition, model, method, scoring policy, repeat and is_known.
-- A check of the whole measurement. The record of a reference model lists the (relation, head) that it has
-- learned (known_heads). It should score near 100 % on those; on the others it should score 50 % on average
-- and nothing by pair. Models without such a list have no rows.
-- average_accuracy (ci_low, ci_high: pair as the cluster); mastery: pairs with all 2K samples right.
create or replace view known_mastery as
with known_heads as (
    select distinct model_id, known.relation, known.head
    from (select model_id, unnest(known_heads) as known from models)
),

test_heads as (
    select edition_id, pair_id, relation, head
    from triplets
    where split = 'test' and is_positive
),

taught as (
    select
        test_heads.edition_id,
        models.model_id,
        test_heads.pair_id,
        known_heads.head is not null as is_known
    from test_heads
    cross join models
    left join known_heads
        on models.model_id = known_heads.model_id
        and test_heads.relation = known_heads.relation
        and test_heads.head = known_heads.head
    where models.known_heads is not null
),

scored as (
    select pair_scores.*, taught.is_known
    from pair_scores
    inner join taught using (edition_id, model_id, pair_id)
)

select
    edition_id,
    model_id,
    model,
    method,
    scoring_policy,
    repeat,
    is_known,
    sum(n_graded)::bigint as n_samples,
    n_clusters(n_graded) as n_pairs,
    share(n_correct, n_graded) as average_accuracy,
    cluster_low(n_correct, n_graded) as ci_low,
    cluster_high(n_correct, n_graded) as ci_high,
    count(*) filter (where is_complete) as n_complete_pairs,
    share(is_mastered::integer, is_complete::integer) as mastery,
    wilson_low(mastery, n_complete_pairs) as mastery_ci_low,
    wilson_high(mastery, n_complete_pairs) as mastery_ci_high,
    share(n_no_answer, n_asked) as no_answer_rate
from scored
group by edition_id, model_id, model, method, scoring_policy, repeat, is_known
order by edition_id, model, model_id, method, scoring_policy, repeat, is_known desc
