-- Grain: one row per edition, model, method, scoring policy, repeat and test pair.
-- The samples of a pair added up, with its clusters (pair_clusters) and what the best shortcut makes of it.
-- is_complete: all 2k samples are graded. Only then can the pair count in mastery: it is mastered if all are right.
-- Likewise a triplet counts in the joint accuracy only if all its k samples are graded.
create table pair_scores as
with counted as (
    select
        run, pair_id,
        any_value(columns(['edition_id', 'model_id', 'model', 'method', 'scoring_policy', 'repeat', 'relation'])),
        samples_per_triplet(any_value(method))::integer as k,
        count(*)::integer as n_asked,
        count(*) filter (is_failed)::integer as n_errors,
        count(*) filter (is_unanswered)::integer as n_no_answer,
        count(*) filter (is_unfinished)::integer as n_unfinished,
        count(*) filter (is_refused)::integer as n_refused,
        count(*) filter (prediction and not is_unanswered)::integer as n_answered_true,
        count(*) filter ((prediction = label) = is_positive and not is_unanswered)::integer as n_affirmed,
        count(is_correct) filter (is_positive)::integer as n_positive,
        count(is_correct) filter (not is_positive)::integer as n_negative,
        count(*) filter (is_correct and is_positive)::integer as n_positive_right,
        count(*) filter (is_correct and not is_positive)::integer as n_negative_right,
        coalesce(list(transformation order by slot) filter (not is_correct and is_positive), []) as wrong_of_true,
        coalesce(list(transformation order by slot) filter (not is_correct and not is_positive), []) as wrong_of_false
    from sample_scores
    where period is null
    group by run, pair_id
)

select
    counted.*,
    n_positive = k and n_negative = k as is_complete,
    is_complete and n_positive_right = k and n_negative_right = k as is_mastered,
    head_cluster, positive_tail_cluster, negative_tail_cluster,
    shortcut, shortcuts.mastery as shortcut_mastery
from counted
inner join storage.pair_clusters using (edition_id, pair_id)
inner join (
    select edition_id, method, pair_id, shortcut, mastery from shortcut_scores where baseline = 'best'
) as shortcuts using (edition_id, method, pair_id)
order by edition_id, model_id, method, scoring_policy, repeat, relation, pair_id
