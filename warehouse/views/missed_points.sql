-- Grain: one row per edition, model, method, scoring policy, repeat and pair that is not mastered.
-- The knowledge points to study: the complete pairs (those that mastery counts) with a wrong sample.
-- n_correct of the n_samples = 2K are right. wrong_of_true and wrong_of_false name the transformations that
-- went wrong on the true and on the false triplet (null for llmeval, which has no transformations).
create or replace view missed_points as
with missed as (
    select
        edition_id,
        model_id,
        model,
        method,
        scoring_policy,
        repeat,
        relation,
        pair_id,
        n_asked,
        n_correct,
        n_no_answer,
        n_correct_positive,
        n_correct_negative,
        graded_bits - correct_bits as wrong_bits
    from pair_scores
    where is_complete and not is_mastered
),

points as (
    select
        edition_id,
        pair_id,
        any_value(head) as head,
        any_value(tail) filter (where is_positive) as true_tail,
        any_value(tail) filter (where not is_positive) as false_tail
    from triplets
    where split = 'test'
    group by edition_id, pair_id
)

select
    missed.edition_id,
    missed.model_id,
    missed.model,
    missed.method,
    missed.scoring_policy,
    missed.repeat,
    missed.relation,
    missed.pair_id,
    points.head,
    points.true_tail,
    points.false_tail,
    missed.n_asked as n_samples,
    missed.n_correct,
    missed.n_correct_positive as n_correct_of_true,
    missed.n_correct_negative as n_correct_of_false,
    missed.n_no_answer,
    case when missed.method <> 'llmeval' then of_true.names end as wrong_of_true,
    case when missed.method <> 'llmeval' then of_false.names end as wrong_of_false
from missed
inner join points on missed.edition_id = points.edition_id and missed.pair_id = points.pair_id
inner join name_transformations() as of_true on positive_bits(missed.wrong_bits) = of_true.transformation_set
inner join name_transformations() as of_false on negative_bits(missed.wrong_bits) = of_false.transformation_set
