-- Grain: one row per edition, model, method, scoring policy, repeat and is_asserted.
-- is_asserted: whether the base asserts that the false triplet of the pair is false (`also_false`). Otherwise it
-- is false because the base does not state it (a closed world). Editions without asserted negatives have one
-- row per setting.
-- average_accuracy: over the samples of the pairs' false triplets, with ci_low and ci_high.
-- mastery: pairs with all 2K samples right, among n_complete_pairs. no_answer_rate, true_rate and error_rate are
-- over all samples of the pairs.
create or replace view accuracy_by_negative as
with negatives as (
    select edition_id, pair_id, coalesce(is_asserted, false) as is_asserted
    from triplets
    where not is_positive
),

counted as (
    select
        pair_scores.*,
        negatives.is_asserted,
        bit_count(negative_bits(graded_bits))::integer as n_graded_false,
        bit_count(negative_bits(correct_bits))::integer as n_correct_false
    from pair_scores
    inner join negatives using (edition_id, pair_id)
)

select
    edition_id,
    model_id,
    model,
    method,
    scoring_policy,
    repeat,
    is_asserted,
    sum(n_graded_false)::bigint as n_samples,
    n_clusters(n_graded_false) as n_pairs,
    share(n_correct_false, n_graded_false) as average_accuracy,
    cluster_low(n_correct_false, n_graded_false) as ci_low,
    cluster_high(n_correct_false, n_graded_false) as ci_high,
    count(*) filter (where is_complete) as n_complete_pairs,
    share(is_mastered::integer, is_complete::integer) as mastery,
    wilson_low(mastery, n_complete_pairs) as mastery_ci_low,
    wilson_high(mastery, n_complete_pairs) as mastery_ci_high,
    share(n_no_answer, n_asked - n_errors) as no_answer_rate,
    share(n_answered_true, n_asked - n_errors - n_no_answer) as true_rate,
    sum(n_errors)::bigint as n_errors,
    share(n_errors, n_asked) as error_rate
from counted
group by edition_id, model_id, model, method, scoring_policy, repeat, is_asserted
order by edition_id, model, model_id, method, scoring_policy, repeat, is_asserted
