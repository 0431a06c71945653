-- Grain: one row per edition, model, method, scoring policy, repeat and test pair.
-- The answers of a model to one fact: how many samples of its true and of its false triplet are right, and whether it
-- masters the pair, that is, all of them. Pairs that mastery does not count are included (is_complete is false).
create or replace view pair_details as
with names as (
    select
        edition_id, pair_id,
        any_value(head) as head,
        any_value(tail) filter (is_positive) as true_tail,
        any_value(tail) filter (not is_positive) as false_tail
    from triplets
    where split = 'test'
    group by edition_id, pair_id
)

select
    edition_id, model_id, model, method, scoring_policy, repeat,
    relation, pair_id, head, true_tail, false_tail,
    n_asked, n_errors,
    2 * k - n_asked as n_not_needed,
    n_graded,
    n_no_answer,
    n_correct,
    n_correct_of_true,
    n_correct_of_false,
    is_complete, is_mastered,
    case when method <> 'llmeval' then wrong_of_true end as wrong_of_true,
    case when method <> 'llmeval' then wrong_of_false end as wrong_of_false
from pair_scores
inner join names using (edition_id, pair_id)
