-- Grain: one row per edition, model, method, scoring policy, repeat and test pair.
-- What a model made of one fact: how many samples of its true and of its false triplet are right, and whether it
-- masters the pair, that is, all of them. Pairs that mastery does not count are included (is_complete is false).
create or replace view pair_details as
select
    pair_scores.edition_id,
    pair_scores.model_id,
    pair_scores.model,
    pair_scores.method,
    pair_scores.scoring_policy,
    pair_scores.repeat,
    pair_scores.relation,
    pair_scores.pair_id,
    positives.head,
    positives.tail as true_tail,
    negatives.tail as false_tail,
    pair_scores.n_asked,
    pair_scores.n_errors,
    pair_scores.n_graded,
    pair_scores.n_no_answer,
    pair_scores.n_correct,
    bit_count(positive_bits(correct_bits))::integer as n_correct_of_true,
    bit_count(negative_bits(correct_bits))::integer as n_correct_of_false,
    pair_scores.is_complete,
    pair_scores.is_mastered
from pair_scores
inner join triplets as positives
    on
        pair_scores.edition_id = positives.edition_id
        and pair_scores.pair_id = positives.pair_id
        and positives.is_positive
inner join triplets as negatives
    on
        pair_scores.edition_id = negatives.edition_id
        and pair_scores.pair_id = negatives.pair_id
        and not negatives.is_positive
