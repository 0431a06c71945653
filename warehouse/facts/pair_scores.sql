-- Grain: one row per edition, model, method, scoring policy, repeat and test pair.
-- The samples of a pair added up, with its clusters (pair_clusters).
-- n_asked, n_errors, n_graded, n_no_answer and n_correct… count samples; n_sampled are those of n_asked that have a
-- weight. n_positive, … are sums of the weights of samples, by which every triplet counts alike, no matter how many of its
-- samples were asked.
-- is_complete: all 2k samples are graded; or the pair was not asked in full, and one of its samples is wrong. Only then does
-- the pair count in mastery: it is mastered if all samples are right. n_triplets, n_triplets_right: the triplets that count
-- in the joint accuracy, because the pair was asked in full and all k samples of the triplet are graded, and those of them
-- with all samples right.
create table pair_scores as
with counted as (
    select
        run, pair_id,
        any_value(columns(['edition_id', 'model_id', 'model', 'method', 'scoring_policy', 'repeat', 'relation'])),
        samples_per_triplet(any_value(method))::integer as k,
        min(weight) > 0 and max(weight) = 1 as is_in_full,
        count(*)::integer as n_asked,
        count(*) filter (weight > 0)::integer as n_sampled,
        count(is_correct)::integer as n_graded,
        count(*) filter (is_correct and is_positive)::integer as n_correct_of_true,
        count(*) filter (is_correct and not is_positive)::integer as n_correct_of_false,
        count(*) filter (is_unanswered)::integer as n_no_answer,
        count(*) filter (is_failed)::integer as n_errors,
        coalesce(sum(weight) filter (is_correct is not null and is_positive), 0)::integer as n_positive,
        coalesce(sum(weight) filter (is_correct is not null and not is_positive), 0)::integer as n_negative,
        coalesce(sum(weight) filter (is_correct and is_positive), 0)::integer as n_positive_right,
        coalesce(sum(weight) filter (is_correct and not is_positive), 0)::integer as n_negative_right,
        coalesce(list(transformation order by slot) filter (not is_correct and is_positive), []) as wrong_of_true,
        coalesce(list(transformation order by slot) filter (not is_correct and not is_positive), []) as wrong_of_false
    from sample_scores
    where period is null
    group by run, pair_id
)

select
    counted.*,
    n_correct_of_true + n_correct_of_false as n_correct,
    n_graded = 2 * k or (not is_in_full and n_errors = 0 and n_correct < n_graded) as is_complete,
    is_complete and n_correct = 2 * k as is_mastered,
    case when is_in_full then (n_positive = k)::integer + (n_negative = k)::integer else 0 end as n_triplets,
    case when is_in_full then (n_positive_right = k)::integer + (n_negative_right = k)::integer else 0 end
        as n_triplets_right,
    head_cluster, positive_tail_cluster, negative_tail_cluster
from counted
inner join storage.pair_clusters using (edition_id, pair_id)
order by edition_id, model_id, method, scoring_policy, repeat, relation, pair_id
