-- Grain: one row per edition, model, method, scoring policy, repeat and test pair.
-- What a model made of one fact: how many samples of its true and of its false triplet are right, and whether it
-- masters the pair, that is, all of them. Pairs that mastery does not count are included (is_complete is false).
-- wrong_of_true, wrong_of_false: the transformations that went wrong on the true and on the false triplet; null for
-- llmeval, which has no transformations.
create or replace view pair_details as
with names as (
    select
        edition_id,
        pair_id,
        any_value(head) as head,
        any_value(tail) filter (where is_positive) as true_tail,
        any_value(tail) filter (where not is_positive) as false_tail
    from triplets
    where split = 'test'
    group by edition_id, pair_id
),

scores as (
    select *, graded_bits - correct_bits as wrong_bits
    from pair_scores
)

select
    edition_id, model_id, model, method, scoring_policy, repeat,
    relation,
    pair_id,
    head,
    true_tail,
    false_tail,
    n_asked,
    n_errors,
    n_graded,
    n_no_answer,
    n_correct,
    bit_count(positive_bits(correct_bits))::integer as n_correct_of_true,
    bit_count(negative_bits(correct_bits))::integer as n_correct_of_false,
    is_complete,
    is_mastered,
    case when method <> 'llmeval' then of_true.names end as wrong_of_true,
    case when method <> 'llmeval' then of_false.names end as wrong_of_false
from scores
inner join names using (edition_id, pair_id)
inner join name_transformations() as of_true on positive_bits(wrong_bits) = of_true.transformation_set
inner join name_transformations() as of_false on negative_bits(wrong_bits) = of_false.transformation_set
