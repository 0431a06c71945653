-- Grain: one row per evaluation of samples (run) and relation (null: all of them).
-- The measures of the papers (docs/statistics.md), counted from the pairs of pair_scores; their intervals are in scores.
-- average_accuracy: of the graded samples, by their weight. joint_accuracy: of the triplets with k graded samples, those that are all
-- right. mastery: of the pairs with 2k graded samples, those that are all right. consistency: of the same triplets,
-- those that are all right or all wrong. Under `excluded`, joint_accuracy, consistency and mastery are null where more
-- than a fifth of their units are not complete, because the rest is the model's own selection.
create or replace view storage.measures as
with triplets_counted as (
    select
        *,
        is_in_full::integer * ((n_positive = k)::integer + (n_negative = k)::integer) as n_whole,
        is_in_full::integer * (
            (n_positive = k and n_positive_right = k)::integer + (n_negative = k and n_negative_right = k)::integer
        ) as n_whole_right,
        is_in_full::integer * (
            (n_positive = k and n_positive_right in (0, k))::integer
            + (n_negative = k and n_negative_right in (0, k))::integer
        ) as n_whole_alike
    from pair_scores
),

summed as (
    select
        run, relation,
        any_value(scoring_policy) <> 'excluded' as is_open,
        count(*) as n_asked_pairs,
        count(*) filter (is_in_full) as n_whole_pairs,
        sum(n_asked) as n_asked,
        sum(n_replies) as n_replies,
        sum(n_errors) as n_errors,
        sum(n_no_answer) as n_no_answer,
        sum(n_unfinished) as n_unfinished,
        sum(n_refused) as n_refused,
        sum(n_answered_true) as n_answered_true,
        sum(n_affirmed) as n_affirmed,
        sum(n_counted) as n_samples,
        sum(n_positive + n_negative) as n_weighted,
        sum(n_positive_right + n_negative_right) as n_right,
        count(*) filter (n_positive + n_negative > 0) as n_pairs,
        sum(n_whole) as n_triplets,
        sum(n_whole_right) as n_triplets_right,
        sum(n_whole_alike) as n_triplets_alike,
        count(*) filter (is_complete) as n_complete_pairs,
        count(*) filter (is_mastered) as n_mastered
    from triplets_counted
    group by grouping sets ((run), (run, relation))
)

select
    run, relation,
    n_samples::bigint as n_samples, n_pairs, n_triplets::bigint as n_triplets, n_complete_pairs,
    n_right / nullif(n_weighted, 0) as average_accuracy,
    case when is_open or n_triplets >= 0.8 * 2 * n_whole_pairs then n_triplets_right / nullif(n_triplets, 0) end
        as joint_accuracy,
    case when is_open or n_triplets >= 0.8 * 2 * n_whole_pairs then n_triplets_alike / nullif(n_triplets, 0) end
        as consistency,
    case when is_open or n_complete_pairs >= 0.8 * n_asked_pairs then n_mastered / nullif(n_complete_pairs, 0) end
        as mastery,
    1 - n_complete_pairs / n_asked_pairs as pair_left_out_rate,
    n_no_answer / nullif(n_replies, 0) as no_answer_rate,
    n_unfinished / nullif(n_replies, 0) as unfinished_reasoning_rate,
    n_refused / nullif(n_replies, 0) as refused_rate,
    n_answered_true / nullif(n_replies - n_no_answer, 0) as true_rate,
    n_affirmed / nullif(n_replies - n_no_answer, 0) as affirmed_rate,
    n_errors::bigint as n_errors,
    n_errors / nullif(n_asked, 0) as error_rate
from summed
